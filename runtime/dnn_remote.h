// The interface of a model that runs as a whole elsewhere, for example on a DSP.
//
// The runtime itself knows no transport; a model's description points to the functions of its
// transport. The runtime checks shapes, bounds and buffers before it calls them; they check the
// results.
#ifndef RULES_DNN_RUNTIME_DNN_REMOTE_H_
#define RULES_DNN_RUNTIME_DNN_REMOTE_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

struct Remote;

// A context's state on the other side. Transports extend it.
struct RemoteContext {
  const Remote* remote;
  const char* words;  // about the last failure; never null
  bool whole;         // words are the other side's complete sentence, not the transport's
};

// The remote part of a description.
struct RemoteInfo {
  const Remote* remote;
  const char* library;         // name of the other side's library, without version
  const char* const* targets;  // processor versions with a library, least capable first
  int32_t target_count;
  const uint8_t* graph_hash;    // 32 bytes: hash of the network
  const uint8_t* weights_hash;  // 32 bytes: hash of the constants that the library was built with
};

// The functions of a transport. A RemoteModel holds what contexts share. Functions of one context
// are never called concurrently.
struct Remote {
  // Connects to the other side's model. Writes the reason of a failure to options.message.
  Status (*model_create)(const Description* d, const RemoteOptions& options, RemoteModel** model);
  void (*model_destroy)(RemoteModel* model);
  const char* (*chip)(const RemoteModel* model);

  Status (*context_create)(RemoteModel* model, RemoteContext** context);
  void (*context_destroy)(RemoteContext* context);

  // Allocates what runs with these symbols need, on both sides. bytes has the sizes of inputs, then
  // outputs.
  Status (*reserve)(RemoteContext* context, const int64_t* sym, const int64_t* bytes);

  // Runs the model and sets the computed symbols.
  Status (*run)(RemoteContext* context, int64_t* sym, const int64_t* bytes, const void* const* in,
                void* const* out);

  // allocate returns memory that runs read and write without copies, or any memory if model is null
  // because the processor runs the model. release accepts null.
  Status (*allocate)(RemoteModel* model, size_t bytes, void** memory);
  void (*release)(void* memory);
};

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_REMOTE_H_
