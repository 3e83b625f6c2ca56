#include "answer.h"

#include "relu.h"

const char* Answer(const float* x, int rows, float* y) {
  relu::Model model;
  relu::Context context;
  relu::Status status = model.Create();
  if (status == 0) status = context.Create(model);
  relu::Dims dims = {};
  dims.N = rows;
  if (status == 0) status = context.Run(dims, x, y);
  return status == 0 ? nullptr : relu::Message(status);
}
