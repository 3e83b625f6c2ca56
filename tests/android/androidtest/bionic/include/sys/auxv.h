#ifndef BIONIC_SYS_AUXV_H_
#define BIONIC_SYS_AUXV_H_

#ifdef __cplusplus
extern "C" {
#endif

#define AT_HWCAP 16
#define AT_HWCAP2 26

unsigned long getauxval(unsigned long type);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_SYS_AUXV_H_
