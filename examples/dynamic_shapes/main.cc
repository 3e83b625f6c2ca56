#include <cstdio>
#include <vector>

#include "net.h"

// Runs batches of several sizes with one model, and tries one size that is not allowed.
int main() {
  net::Model model;
  net::Context context;
  if (model.Create() != net_OK || context.Create(model) != net_OK) return 1;
  for (int64_t n : {1, 5, 3}) {
    const net::Dims dims = {/*N=*/n};
    const size_t batch = static_cast<size_t>(n);
    std::vector<float> images(batch * 3 * 32 * 32, 0.5f), logits(batch * 10);
    const net::Status status = context.Run(dims, images.data(), logits.data());
    std::printf("%lld images: %s, %lld bytes of values\n", static_cast<long long>(n),
                net::Message(status), static_cast<long long>(net_arena_bytes(&dims)));
    if (status != net_OK) return 1;
  }
  const net::Dims none = {/*N=*/-1};
  char why[200];
  net_explain_dims(&none, why, sizeof why);
  std::puts(why);
  return net_check_dims(&none) == net_BAD_DIMS ? 0 : 1;
}
