#include "relu_arm64.h"

static_assert(relu_arm64_INPUT_COUNT == 1, "the network has one input");
