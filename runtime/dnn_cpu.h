// What the processor offers beyond its architecture's baseline.
#ifndef RULES_DNN_RUNTIME_DNN_CPU_H_
#define RULES_DNN_RUNTIME_DNN_CPU_H_

namespace rules_dnn {
inline namespace v1 {

// Whether the processor has a feature, by its name in the Linux kernel's list or the
// compiler's: avx2 fma avx512f ... on x86, asimddp i8mm ... on arm64. A name that is
// not known is a feature that is lacking.
bool CpuHas(const char* feature);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_CPU_H_
