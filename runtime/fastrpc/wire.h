// The remote interface, which is one for all models: what the stub in an application and the
// skeleton, the model's library on the DSP, say to each other.
//
// Both may be of any build, and either may be wrong: each checks all numbers, sizes and counts that
// it reads. Numbers are little-endian, as those of all processors that meet here; structs have no
// padding. A call that is malformed returns kBadArguments; what a model says of one that is well
// formed is a status in the reply, as FastRPC drops what a call that returns an error has written.
#ifndef RULES_DNN_RUNTIME_FASTRPC_WIRE_H_
#define RULES_DNN_RUNTIME_FASTRPC_WIRE_H_

#include <stdint.h>

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// Changes with what follows.
constexpr uint32_t kProtocol = 1;

// What FastRPC calls in the skeleton, by the library's URI.
#define RULES_DNN_FASTRPC_ENTRY dnn_skel_handle_invoke

// Methods, with their buffers. The first two are FastRPC's own, of every interface with handles.
enum class Method : uint32_t {
  kOpen = 0,      // in: uint32_t of bytes, URI; out handle: the session
  kClose = 1,     // in handle: the session
  kIdentify = 2,  // in: Hello; out: Identity
  kCreate = 3,    // in: CreateAsk; out: CreateReply
  kDestroy = 4,   // in: ContextAsk; out: Reply
  kReserve = 5,   // in: ContextAsk, given symbols; out: Reply
  kRun = 6,       // in: ContextAsk, given symbols, inputs; out: Reply, all symbols, outputs
  kExplain = 7,   // in: ContextAsk; out: Reply, text of any capacity
};

// How many buffers a run has beside inputs, and beside outputs.
constexpr int32_t kRunHead = 2;

struct Hello {
  uint32_t protocol;
  uint32_t zero;
};

// Whose skeleton it is.
struct Identity {
  uint32_t protocol;
  uint32_t runtime;  // kRuntimeVersion
  uint32_t inputs, outputs;
  uint32_t symbols, given;
  uint8_t graph[32];    // SHA-256 of the network
  uint8_t weights[32];  // SHA-256 of the constants that it was made of
  char chip[40];        // whose kernels it has; a zero ends it
};

// Workers are not told: a skeleton computes in the thread that FastRPC calls it by.
struct CreateAsk {
  uint32_t protocol;
  int32_t keep_denormals;
};

struct CreateReply {
  int32_t status;
  uint32_t zero;
  uint64_t context;  // its number, within the session
};

struct ContextAsk {
  uint64_t context;
};

struct Reply {
  int32_t status;
  uint32_t zero;
};

static_assert(sizeof(Hello) == 8 && sizeof(Identity) == 128 && sizeof(CreateAsk) == 8 &&
                  sizeof(CreateReply) == 16 && sizeof(ContextAsk) == 8 && sizeof(Reply) == 8,
              "the same on both sides");

// Where tensors begin in a call: vectors of the DSP read and write them.
constexpr size_t kLine = 128;

// The bytes of the URI's text, a zero included, and of words.
constexpr size_t kMostUri = 512;
constexpr size_t kMostWords = 1024;

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_WIRE_H_
