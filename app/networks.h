// The network on each backend.
#ifndef RULES_DNN_APP_NETWORKS_H_
#define RULES_DNN_APP_NETWORKS_H_

#include <memory>

#include "app/classifier.h"

namespace app {

std::unique_ptr<Network> OnCpu();

// *without_device becomes true if creation finds no OpenCL library or no device.
std::unique_ptr<Network> OnOpenCl(bool* without_device);

}  // namespace app

#endif  // RULES_DNN_APP_NETWORKS_H_
