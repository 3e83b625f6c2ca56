// Functions of double that kernels call, since a DSP may have no C library. They are correctly
// rounded except in very rare cases, and so equal the compiler's bits. Those that are not exact are
// slow.
#ifndef RULES_DNN_RUNTIME_DSP_DNN_F64_H_
#define RULES_DNN_RUNTIME_DSP_DNN_F64_H_

double dnn_f64_exp(double x);
double dnn_f64_expm1(double x);
double dnn_f64_log(double x);
double dnn_f64_log1p(double x);
double dnn_f64_erf(double x);
double dnn_f64_sin(double x);
double dnn_f64_cos(double x);
double dnn_f64_tan(double x);
double dnn_f64_asin(double x);
double dnn_f64_acos(double x);
double dnn_f64_atan(double x);
double dnn_f64_sinh(double x);
double dnn_f64_cosh(double x);
double dnn_f64_tanh(double x);
double dnn_f64_asinh(double x);
double dnn_f64_acosh(double x);
double dnn_f64_atanh(double x);
double dnn_f64_sqrt(double x);
double dnn_f64_floor(double x);
double dnn_f64_ceil(double x);
double dnn_f64_trunc(double x);
double dnn_f64_rint(double x);
double dnn_f64_fmod(double x, double y);
double dnn_f64_pow(double x, double y);

#endif  // RULES_DNN_RUNTIME_DSP_DNN_F64_H_
