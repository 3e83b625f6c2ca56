// The remote interface, which is the same for all models: the messages between the stub in an
// application and the skeleton, the model's library on the DSP.
//
// Each side may be from any build or faulty, so that each checks all numbers, sizes and counts that
// it reads. Numbers are little-endian, as on all supported processors; structs have no padding. A
// malformed call returns kBadArguments. The model's status of a well-formed call is in the reply,
// because FastRPC drops the outputs of a call that returns an error.
#ifndef RULES_DNN_RUNTIME_FASTRPC_WIRE_H_
#define RULES_DNN_RUNTIME_FASTRPC_WIRE_H_

#include <stdint.h>

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {
namespace fastrpc {

// Changes with the declarations below.
constexpr uint32_t kProtocol = 1;

// The skeleton's function that FastRPC calls, named in the library's URI.
#define RULES_DNN_FASTRPC_ENTRY dnn_skel_handle_invoke

// Methods with their buffers. FastRPC itself defines the first two for interfaces with handles.
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

// The number of buffers of a run before inputs, and before outputs.
constexpr int32_t kRunHead = 2;

struct Hello {
  uint32_t protocol;
  uint32_t zero;
};

// The identity of a skeleton.
struct Identity {
  uint32_t protocol;
  uint32_t runtime;  // kRuntimeVersion
  uint32_t inputs, outputs;
  uint32_t symbols, given;
  uint8_t graph[32];    // SHA-256 of the network
  uint8_t weights[32];  // SHA-256 of the constants that the library was built with
  char chip[40];        // the chip of its kernels, ended by a zero
};

// It has no number of workers: a skeleton computes in the thread on which FastRPC calls it.
struct CreateAsk {
  uint32_t protocol;
  int32_t keep_denormals;
};

struct CreateReply {
  int32_t status;
  uint32_t zero;
  uint64_t context;  // number within the session
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

// Alignment of tensors in a call, for the DSP's vectors.
constexpr size_t kLine = 128;

// The maximum size of a URI with its final zero, and of words.
constexpr size_t kMostUri = 512;
constexpr size_t kMostWords = 1024;

}  // namespace fastrpc
}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_FASTRPC_WIRE_H_
