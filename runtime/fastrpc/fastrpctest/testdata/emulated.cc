// A DSP in another process: FAKE_DSP_PROGRAM is a command that answers calls through its standard
// input and output, like dsp.c under qemu-hexagon. Numbers are sent as in memory: both sides are
// little-endian.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

extern char** environ;

namespace dsp {
namespace {

enum class Ask : uint32_t { kLoad, kInvoke, kAlive };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pid_t process = 0;
int wire = -1;

// Starts the process if it is not running.
bool Start() {
  if (process != 0) return true;
  const char* const program = getenv("FAKE_DSP_PROGRAM");
  int ends[2];
  if (program == nullptr || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return false;
  }
  posix_spawn_file_actions_t as;
  posix_spawn_file_actions_init(&as);
  posix_spawn_file_actions_adddup2(&as, ends[1], 0);
  posix_spawn_file_actions_adddup2(&as, ends[1], 1);
  const char* const words[] = {"sh", "-c", program, nullptr};
  const int failed =
      posix_spawn(&process, "/bin/sh", &as, nullptr, const_cast<char**>(words), environ);
  posix_spawn_file_actions_destroy(&as);
  close(ends[1]);
  if (failed == 0) {
    wire = ends[0];
    return true;
  }
  close(ends[0]);
  process = 0;
  return false;
}

// Kills the process in any state.
void End() {
  if (process == 0) return;
  kill(process, SIGKILL);
  close(wire);
  waitpid(process, nullptr, 0);
  process = 0;
}

void Put(std::string* to, const void* at, size_t bytes) {
  to->append(static_cast<const char*>(at), bytes);
}
template <class T>
void Put(std::string* to, const T& value) {
  Put(to, &value, sizeof(value));
}

bool Send(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = send(wire, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool Receive(void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = recv(wire, static_cast<char*>(to) + done, bytes - done, 0);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// The number of arguments of each kind in a call.
struct Counts {
  size_t in, out, in_handles, out_handles;
  explicit Counts(uint32_t s)
      : in(s >> 16 & 255), out(s >> 8 & 255), in_handles(s >> 4 & 15), out_handles(s & 15) {}
};

// Writes a buffer: its stated size, whether it is present, and for an input the available bytes.
void PutBuffer(std::string* ask, const Call& call, size_t i, bool in) {
  const remote_buf none = {nullptr, 0};
  const remote_buf& b = i < call.args.size() ? call.args[i].buf : none;
  Put(ask, static_cast<uint32_t>(b.nLen));
  Put(ask, static_cast<uint32_t>(b.pv != nullptr));
  if (!in || b.pv == nullptr) return;
  const size_t has = b.nLen < call.room[i] ? b.nLen : call.room[i];
  Put(ask, b.pv, has);
  ask->append(b.nLen - has, '\0');
}

bool GetBuffer(const Call& call, size_t i) {
  if (i >= call.args.size()) return true;
  const remote_buf& b = call.args[i].buf;
  if (b.pv == nullptr) return true;
  std::string bytes(b.nLen, '\0');
  if (!Receive(&bytes[0], bytes.size())) return false;
  memcpy(b.pv, bytes.data(), b.nLen < call.room[i] ? b.nLen : call.room[i]);
  return true;
}

// Reads the outputs of a call.
bool GetOutputs(const Counts& n, Call* call) {
  for (size_t i = n.in; i < n.in + n.out; ++i) {
    if (!GetBuffer(*call, i)) return false;
  }
  const size_t first = n.in + n.out + n.in_handles;
  for (size_t i = first; i < first + n.out_handles; ++i) {
    uint64_t handle = 0;
    if (!Receive(&handle, sizeof(handle))) return false;
    if (i < call->args.size()) call->args[i].h64 = handle;
  }
  return true;
}

int InvokeLocked(int library, Call* call) {
  const Counts n(call->scalars);
  std::string ask;
  Put(&ask, Ask::kInvoke);
  Put(&ask, library);
  Put(&ask, call->scalars);
  Put(&ask, call->handle);
  for (size_t i = 0; i < n.in + n.out; ++i) PutBuffer(&ask, *call, i, i < n.in);
  for (size_t i = n.in + n.out; i < n.in + n.out + n.in_handles; ++i) {
    Put(&ask, i < call->args.size() ? call->args[i].h64 : 0);
  }
  int code = 0;
  if (process == 0 || !Send(ask) || !Receive(&code, sizeof(code)) ||
      (code == 0 && !GetOutputs(n, call))) {
    End();
    return kReset;
  }
  return code;
}

}  // namespace

int Load(const std::string& file, const std::string& symbol, int* library) {
  std::string ask;
  Put(&ask, Ask::kLoad);
  Put(&ask, static_cast<uint32_t>(file.size() + symbol.size() + 2));
  ask += file + '\0' + symbol + '\0';
  int code = kReset;
  pthread_mutex_lock(&lock);
  if (!Start() || !Send(ask) || !Receive(&code, sizeof(code)) ||
      !Receive(library, sizeof(*library))) {
    End();
    code = kReset;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int Invoke(int library, Call* call) {
  pthread_mutex_lock(&lock);
  const int code = InvokeLocked(library, call);
  pthread_mutex_unlock(&lock);
  return code;
}

void Forget(int, uint64_t) {}

// Simulates a restart of the DSP; a skeleton that crashes in a call ends its process itself.
void Die() {
  pthread_mutex_lock(&lock);
  End();
  pthread_mutex_unlock(&lock);
}

int Alive() {
  std::string ask;
  Put(&ask, Ask::kAlive);
  int pieces = 0;
  pthread_mutex_lock(&lock);
  if (process != 0 && (!Send(ask) || !Receive(&pieces, sizeof(pieces)))) pieces = -1;
  pthread_mutex_unlock(&lock);
  return pieces;
}

}  // namespace dsp
