// Counters of qemu-hexagon.
#ifndef RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_COUNTERS_H_
#define RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_COUNTERS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Stores the numbers of packets, instructions and vector instructions executed so far, modulo
// 2^32.
void driver_counters(uint32_t* counts);

#ifdef __cplusplus
}
#endif

#endif  // RULES_DNN_TOOLCHAINS_QEMU_HEXAGON_COUNTERS_H_
