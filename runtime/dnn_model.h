// A compiled model as data, and what every generated API does with it: checks, memory,
// threads, runs. Programs that serve any model use this header and a model's
// PREFIX_describe(); programs that use one model take its generated header instead.
//
// One model may have several contexts, and threads may use different contexts at the
// same time; a context belongs to one thread at a time.
#ifndef RULES_DNN_RUNTIME_DNN_MODEL_H_
#define RULES_DNN_RUNTIME_DNN_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/dnn_runtime.h"

namespace rules_dnn {
inline namespace v1 {

// A number that may depend on symbols: Description::expr's expression `expr` where that
// is not negative, else scale * symbol + offset, or offset alone where symbol is negative.
struct Size {
  int64_t scale;
  int64_t offset;
  int32_t symbol;
  int32_t expr;
};

struct Dim {
  Size size;
  const char* text;  // as a person writes it: "2*H + 1"
};

struct TensorInfo {
  const char* name;
  const char* type;  // bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64
  int32_t element_bytes;
  int32_t rank;
  const Dim* dims;
};

// A dimension that is known at run time. Computed ones are known after a run and come last;
// `max` bounds them by the others.
struct SymbolInfo {
  const char* name;
  int64_t lo, hi;  // inclusive
  bool computed;
  Size max;
};

// What holds of two numbers in every run that a network allows.
enum class Relation : int32_t {
  kEqual = 0,
  kBroadcast = 1,  // equal, or one is 1 and the other at least 0
  kAtLeast = 2,    // a >= b
};

// A condition on the symbols without which a node of the network is malformed.
struct CheckInfo {
  const char* what;  // the node, and what it demands
  Dim a, b;
  Relation relation;
};

// A chip that a model has kernels for.
struct VariantInfo {
  const char* name;
  const char* const* cpu_features;  // names of dnn_cpu.h
  int32_t cpu_feature_count;
};

struct DeviceInfo;
struct DeviceModel;
struct RemoteInfo;
struct RemoteModel;

// The most symbols that a model may have.
constexpr int kMaxSymbols = 256;

struct Description {
  const char* name;
  const char* generator;  // what made the code, with its version
  int32_t symbol_count;
  int32_t given_count;  // symbols that the caller gives
  const SymbolInfo* symbols;
  int32_t check_count;
  const CheckInfo* checks;  // of the symbols that the caller gives
  int32_t input_count;
  const TensorInfo* inputs;
  int32_t output_count;
  const TensorInfo* outputs;

  const Size* arena;  // the arena holds the greatest of these
  int32_t arena_count;
  Size scratch;  // of one worker

  const uint8_t* weights;  // null: the options bring them, with the header of a weights file
  int64_t weights_bytes;
  const uint8_t* weights_hash;  // 32 bytes

  // The value of an expression; *bad becomes 1 where it leaves 64 bits.
  int64_t (*expr)(const int64_t* sym, int32_t index, int* bad);
  Status (*program)(const Ctx* c);

  // The chips that the model has kernels for, the least capable first; one at least.
  const VariantInfo* variants;
  int32_t variant_count;

  // Of dnn_device.h; null where the processor runs all.
  const DeviceInfo* device = nullptr;

  // Of dnn_remote.h; null where the model runs here. The program is then what runs where the other
  // side cannot be reached, if the options say so.
  const RemoteInfo* remote = nullptr;
};

// What a caller may choose. The struct begins with its own size, so that it can grow; members
// beyond that size have their defaults, and a member of 0 always is the default.
struct Options {
  size_t size;
  const void* weights;  // a weights file, aligned to kAlignment; stays the caller's
  size_t weights_bytes;
  // Both or none. allocate may return null; release gets what allocate gave.
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes);
  void* allocator_user;
  int32_t workers;  // threads of a context, its caller included; 0 is 1
  // Instead of threads of our own: calls body(arg, i) once for each i in [0, count), in any
  // order and at the same time if it likes, and returns when all have returned.
  // count is at most workers.
  void (*parallel_for)(void* user, int32_t count, void (*body)(void* arg, int32_t index),
                       void* arg);
  void* parallel_user;
  int32_t keep_denormals;  // 1: floats below 2^-126 count; 0: they are zeros
  // 1: compares the hash of all weights of a file with the model's; 0: header and length alone. Its
  // type has it begin where structs without it ended, padding included.
  int64_t verify_weights;
  // The name of the chip whose kernels run. Null: the one that the environment variable DNN_VARIANT
  // names, or else the last of the model's that this processor has all features of.
  const char* variant;
};
static_assert(offsetof(Options, variant) == offsetof(Options, verify_weights) + sizeof(int64_t),
              "no padding between");
static_assert(offsetof(Options, verify_weights) % sizeof(void*) == 0 &&
                  offsetof(Options, verify_weights) >=
                      offsetof(Options, keep_denormals) + sizeof(int32_t),
              "a caller's struct without the member ends before it");

// The options of a model that runs on a device.
struct DeviceOptions {
  Options host;
  const char* platform;  // a number, or a part of the name; null: any
  const char* device;    // likewise, of that platform; null: the first GPU, or else the first
  void* context;         // the application's cl_context, and
  void* queue;           // its cl_command_queue, in order; null: our own
  const char* cache;     // the folder of compiled kernels; null: none are kept
  char* message;         // where creation says what is wrong; null: nowhere
  size_t message_bytes;
  // Whether the driver records launches that runs repeat: 0 where runs start sooner by that, 1
  // wherever the driver has command buffers, -1 never.
  int64_t command_buffers;
};
static_assert(offsetof(DeviceOptions, platform) == sizeof(Options), "no padding between");

// The options of a model that runs on a DSP.
struct RemoteOptions {
  Options host;  // weights and variant are of the processor's kernels
  const char*
      library;    // the skeleton's file; null: the one that is called as the model's build did
  char* message;  // where creation says what is wrong; null: nowhere
  size_t message_bytes;
  int32_t fallback;        // 1: the processor runs the model where no DSP does; 0: a status
  int32_t signed_process;  // 1: the library is signed; 0: an unsigned process is asked for
};
static_assert(offsetof(RemoteOptions, library) == sizeof(Options), "no padding between");

// The header of a weights file. What follows is kAlignment-aligned with the file.
struct WeightsHeader {
  char magic[8];   // kWeightsMagic
  uint64_t bytes;  // of what follows; little-endian
  uint8_t hash[32];
  uint8_t zero[kAlignment - 48];
};
static_assert(sizeof(WeightsHeader) == kAlignment, "weights follow their header aligned");
#define RULES_DNN_WEIGHTS_MAGIC "DNNWTS01"

struct Model;
struct Context;

// options may be null. The model lives until it and all its contexts are destroyed.
Status ModelCreate(const Description* description, const Options* options, Model** model);
void ModelDestroy(Model* model);

// The number of the chip in Description::variants whose kernels the model runs.
int32_t ModelVariant(const Model* model);

// Its name; empty where model is null.
const char* VariantName(const Model* model);

Status ContextCreate(Model* model, Context** context);
void ContextDestroy(Context* context);

// In what follows sym has Description::symbol_count values; computed ones are ignored,
// and sym may be null where the caller gives none.

// Whether the symbols are within their bounds, no check fails and all sizes are possible.
Status CheckDims(const Description* d, const int64_t* sym);

// Why CheckDims refuses the symbols, as a sentence for people that names the symbol or the node
// and the values. Writes at most `capacity` bytes, a zero at the end included, and returns the
// length of the whole sentence: 0 where CheckDims is content.
size_t ExplainDims(const Description* d, const int64_t* sym, char* text, size_t capacity);

// Bytes of the arena for the symbols, or the negative of a status.
int64_t ArenaBytes(const Description* d, const int64_t* sym);

// Bytes of an input or output, or the negative of a status. Where computed symbols decide, the
// most that a run can write.
int64_t TensorBytes(const Description* d, const TensorInfo* tensor, const int64_t* sym);

// The dimensions of an input or output; computed symbols count as their bounds.
Status TensorShape(const Description* d, const TensorInfo* tensor, const int64_t* sym,
                   int64_t* shape);

// Compares sizes of buffers with TensorBytes. Output buffers may be larger than needed.
Status CheckSizes(const Description* d, const int64_t* sym, const size_t* in_bytes,
                  const size_t* out_bytes);

// Takes the memory that runs with these symbols need, so that they allocate nothing.
Status Reserve(Context* context, const int64_t* sym);

// Runs the model: in and out have a pointer for each input and output.
Status Run(Context* context, const int64_t* sym, const void* const* in, void* const* out);

// Where an input or output lies of a run that is started: in memory of the device, from a byte on,
// or where that is null in the processor's.
struct Buffer {
  void* memory;  // a cl_mem of OpenCL, a buffer of the context that the options brought
  size_t offset;
  void* host;
};

// What of the device's driver a run waits for, cl_events of OpenCL, and what tells of its end.
struct Events {
  int32_t wait_count;
  void* const* wait;
  void** done;  // becomes the caller's cl_event; null: none is made
};

// Starts a run of a model that runs on a device: in and out have a Buffer for each input and
// output. It returns when the device has all that there is to do, or, where outputs lie in the
// processor's memory, when these are written. A value that the device refuses is told by Wait or by
// the next Run. events may be null.
Status Start(Context* context, const int64_t* sym, const Buffer* in, const Buffer* out,
             const Events* events);

// Waits for all that was started; the status of what failed.
Status Wait(Context* context);

// Why the context's last run or reservation failed, as a sentence for people that names the node,
// the buffer or the symbol. Writes and returns as ExplainDims does: 0 where it did not fail.
size_t ExplainRun(const Context* context, char* text, size_t capacity);

// Called before (done is false) and after each block of a run, by the thread that runs the model;
// c->sym are the symbols' values by then. A block in a loop is called as often as the loop.
using Observer = void (*)(void* user, const Ctx* c, int32_t block, bool done);

// Has the context's runs observed; a null observer ends that.
void Observe(Context* context, Observer observer, void* user);

// Looks at what runs start on a device.
struct LaunchObserver {
  // At each launch of a block's kernel; c->sym are the symbols' values by then. May be null.
  void (*launched)(void* user, const Ctx* c, int32_t block);
  // How long the kernel took by the driver's clocks, in milliseconds; told when a run has ended.
  // Null: no clocks.
  void (*took)(void* user, int32_t block, double ms);
  void* user;
};

// Has what the context's runs launch observed; a null observer ends that, and so does a failure.
// The observer stays the caller's. Kernels with clocks run on a queue of their own, behind nothing
// that the application enqueues meanwhile on the one of its options.
Status ObserveLaunches(Context* context, const LaunchObserver* observer);

// Memory that runs of a model on a DSP read and write without copies, and that runs on the
// processor take as any. It stays until it is released, whatever becomes of the model. Only for
// models with Description::remote.
Status AllocateShared(Model* model, size_t bytes, void** memory);
void ReleaseShared(Model* model, void* memory);

// What the model has of its device, for the functions of its backend; null without one.
DeviceModel* DeviceOf(const Model* model);

// The dimensions that an output had in the last successful run.
Status ResultShape(const Context* context, const TensorInfo* output, int64_t* shape);

// A sentence for people; never null.
const char* StatusMessage(Status status);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_MODEL_H_
