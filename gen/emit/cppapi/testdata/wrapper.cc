// The C++ wrappers, called from the driver.
#include "constant.h"
#include "fake.v1.h"
#include "rows.h"
#include "runtime/dnn_model.h"

namespace {

bool Fake() {
  app::fake::Model model;
  app::fake::Context context;
  app::fake::Options options{};
  options.size = sizeof(options);
  options.workers = 2;
  if (model.Create(&options) != app_fake_OK || context.Create(model) != app_fake_OK) return false;
  app::fake::Model moved = static_cast<app::fake::Model&&>(model);
  if (model.get() != nullptr || moved.get() == nullptr) return false;
  app::fake::Context other;
  other = static_cast<app::fake::Context&&>(context);
  if (context.get() != nullptr) return false;
  const app_fake_dims dims = {1, 1};
  const float image[] = {1, 2, 3};
  const int64_t scalar = 4;
  float y[4] = {};
  uint8_t z[1] = {};
  moved = app::fake::Model();  // the context keeps what it needs
  if (other.Run(dims, image, &scalar, y, z) != app_fake_OK) return false;
  return y[0] == 10 && y[3] == 40 && z[0] == 0 &&
         context.Run(dims, image, &scalar, y, z) == app_fake_NULL_ARGUMENT;
}

bool Constant() {
  constant_ns::Model model;
  constant_ns::Context context;
  uint16_t y[2] = {};
  constant_ns::Options options{};
  options.size = sizeof(options);
  return model.Create(options) == constant_OK && context.Create(model) == constant_OK &&
         context.Reserve() == constant_OK && context.Run(y) == constant_OK && y[1] == 0xbc00;
}

bool Describe() {
  const auto* const d = static_cast<const rules_dnn::Description*>(rows_describe());
  return d->given_count == 1 && d->symbol_count == 2 && d->symbols[1].computed &&
         d->outputs[0].rank == 2 && d->outputs[0].dims[1].size.symbol == 1 &&
         d->outputs[0].dims[0].size.offset == 1;
}

}  // namespace

extern "C" int wrapper_works(void) { return Fake() && Constant() && Describe(); }
