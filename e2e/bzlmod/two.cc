// Two models in one program that is built without Bazel.
#include "other_here.h"
#include "print_row.h"
#include "relu_here.h"

int main() {
  const bool good = PrintRow<relu_here::Model, relu_here::Context, relu_here::Dims>("relu") &&
                    PrintRow<other_here::Model, other_here::Context, other_here::Dims>("other");
  return good ? 0 : 1;
}
