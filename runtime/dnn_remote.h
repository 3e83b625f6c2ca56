// What a model that runs elsewhere as a whole tells of it, as one on a DSP that a call reaches.
//
// The runtime itself knows no transport: a model's description names the functions of its own.
// Shapes, bounds and buffers are checked here before anything is called; what comes back is checked
// by those functions.
#ifndef RULES_DNN_RUNTIME_DNN_REMOTE_H_
#define RULES_DNN_RUNTIME_DNN_REMOTE_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

struct Remote;

// A context's part there. Transports have more in theirs.
struct RemoteContext {
  const Remote* remote;
  const char* words;  // of the last failure; never null
  bool whole;         // words are the other side's sentence, and not of the transport
};

// The remote part of a description.
struct RemoteInfo {
  const Remote* remote;
  const char* library;         // what the other side's library is called, without version
  const char* const* targets;  // versions of processors that have one, the least capable first
  int32_t target_count;
  const uint8_t* graph_hash;    // 32 bytes: of the network
  const uint8_t* weights_hash;  // 32 bytes: of the constants that it was made of
};

// The functions of a transport. A RemoteModel is what contexts share. Functions of a context are
// called by one thread at a time.
struct Remote {
  // Reaches the other side's model. Says to options.message what is wrong.
  Status (*model_create)(const Description* d, const RemoteOptions& options, RemoteModel** model);
  void (*model_destroy)(RemoteModel* model);
  const char* (*chip)(const RemoteModel* model);

  Status (*context_create)(RemoteModel* model, RemoteContext** context);
  void (*context_destroy)(RemoteContext* context);

  // Takes what runs with these symbols need, on both sides. bytes are of inputs, then outputs.
  Status (*reserve)(RemoteContext* context, const int64_t* sym, const int64_t* bytes);

  // Runs the model, and sets computed symbols.
  Status (*run)(RemoteContext* context, int64_t* sym, const int64_t* bytes, const void* const* in,
                void* const* out);

  // Memory that runs read and write without copies; where model is null, as where the processor
  // runs all, any. null is released as nothing.
  Status (*allocate)(RemoteModel* model, size_t bytes, void** memory);
  void (*release)(void* memory);
};

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_REMOTE_H_
