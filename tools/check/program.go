package check

// KernelCopts are the options with which the rules compile kernels: tests compare them with the
// rules'.
var KernelCopts = []string{"-std=c++17", "-O3", "-fno-fast-math", "-ffp-contract=fast", "-fno-math-errno", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"}

// Served is the source that names a model, model_*, to the program around it, runtime/serve.
const Served = `extern "C" const void* model_describe(void);
extern "C" const void* model_profile(void);
extern "C" const void* dnn_served_model(void);
extern "C" const void* dnn_served_profile(void);
extern "C" const char* dnn_served_weights(void);
const void* dnn_served_model(void) { return model_describe(); }
const void* dnn_served_profile(void) { return model_profile(); }
const char* dnn_served_weights(void) { return nullptr; }
`
