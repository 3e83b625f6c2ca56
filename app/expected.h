// Shared parts of tests that run the network elsewhere: checks, and the processor's results.
#ifndef RULES_DNN_APP_EXPECTED_H_
#define RULES_DNN_APP_EXPECTED_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "app/classifier.h"
#include "app/model.h"

#define CHECK(x)                                                   \
  do {                                                             \
    if (!(x)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
      std::fprintf(stderr, "%s\n", app::message);                  \
      std::exit(1);                                                \
    }                                                              \
  } while (0)

namespace app {

// The last message: models write it, and failing checks print it.
inline char message[4096];

constexpr size_t kInput = 3 * kPixels;

inline std::vector<float> Expected(const std::vector<float>& x) {
  constexpr size_t kBatch = 50;
  app_model::Model model;
  app_model::Context context;
  const size_t count = x.size() / kInput;
  std::vector<float> y(count * kClasses, NAN);
  CHECK(model.Create() == app_model_OK && context.Create(model) == app_model_OK);
  for (size_t i = 0; i < count; i += kBatch) {
    const app_model::Dims dims = {static_cast<int64_t>(std::min(kBatch, count - i))};
    CHECK(context.Run(dims, &x[i * kInput], &y[i * kClasses]) == app_model_OK);
  }
  return y;
}

}  // namespace app

#endif  // RULES_DNN_APP_EXPECTED_H_
