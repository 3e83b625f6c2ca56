// Three models in one program.
#include "a/model.h"
#include "b/model.h"
#include "choice/net.h"
#include "print_row.h"

int main() {
  const bool good = PrintRow<a_model::Model, a_model::Context, a_model::Dims>("a") &&
                    PrintRow<b_model::Model, b_model::Context, b_model::Dims>("b") &&
                    PrintRow<choice_net::Model, choice_net::Context, choice_net::Dims>("choice");
  return good ? 0 : 1;
}
