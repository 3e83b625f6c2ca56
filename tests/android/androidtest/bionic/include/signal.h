#ifndef BIONIC_SIGNAL_H_
#define BIONIC_SIGNAL_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long sigset_t;

#define SIG_SETMASK 2

int sigfillset(sigset_t* set);
int pthread_sigmask(int how, const sigset_t* set, sigset_t* old);

#ifdef __cplusplus
}
#endif

#endif  // BIONIC_SIGNAL_H_
