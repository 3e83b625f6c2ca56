// A compiled model as data, and the operations of every generated API: checks, memory, threads and
// runs. Programs that serve any model use this header and a model's PREFIX_describe(). Programs
// that use one model include its generated header instead.
//
// A model may have several contexts. Different threads may use different contexts at the same time,
// but one context must not be used by two threads at once.
#ifndef RULES_DNN_RUNTIME_DNN_MODEL_H_
#define RULES_DNN_RUNTIME_DNN_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/dnn_runtime.h"

namespace rules_dnn {
inline namespace v1 {

// A number that may depend on symbols. If expr is not negative, it is the value of
// Description::expr for index `expr`. Otherwise it is scale * symbol + offset, or only offset if
// symbol is negative.
struct Size {
  int64_t scale;
  int64_t offset;
  int32_t symbol;
  int32_t expr;
};

struct Dim {
  Size size;
  const char* text;  // in the model's notation: "2*H + 1"
};

struct TensorInfo {
  const char* name;
  const char* type;  // bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64
  int32_t element_bytes;
  int32_t rank;
  const Dim* dims;
};

// A dimension that is known only at run time. Computed symbols get their values during a run and
// follow the others in the list; `max` bounds them in terms of those others.
struct SymbolInfo {
  const char* name;
  int64_t lo, hi;  // inclusive
  bool computed;
  Size max;
};

// A relation between two numbers that every valid run satisfies.
enum class Relation : int32_t {
  kEqual = 0,
  kBroadcast = 1,  // equal, or one is 1 and the other is not negative
  kAtLeast = 2,    // a >= b
};

// A condition on the symbols. If it does not hold, a node of the network is malformed.
struct CheckInfo {
  const char* what;  // the node and its requirement
  Dim a, b;
  Relation relation;
};

// A chip that a model has kernels for.
struct VariantInfo {
  const char* name;
  const char* const* cpu_features;  // as in dnn_cpu.h
  int32_t cpu_feature_count;
};

struct DeviceInfo;
struct DeviceModel;
struct RemoteInfo;
struct RemoteModel;

// Maximum number of symbols of a model.
constexpr int kMaxSymbols = 256;

struct Description {
  const char* name;
  const char* generator;  // the program that generated the code, with its version
  int32_t symbol_count;
  int32_t given_count;  // symbols that the caller sets
  const SymbolInfo* symbols;
  int32_t check_count;
  const CheckInfo* checks;  // on the symbols that the caller sets
  int32_t input_count;
  const TensorInfo* inputs;
  int32_t output_count;
  const TensorInfo* outputs;

  const Size* arena;  // the arena is as large as the largest of these
  int32_t arena_count;
  Size scratch;  // per worker

  const uint8_t* weights;  // null: Options::weights points to a weights file
  int64_t weights_bytes;
  const uint8_t* weights_hash;  // 32 bytes

  // Evaluates an expression; sets *bad to 1 if the value does not fit 64 bits.
  int64_t (*expr)(const int64_t* sym, int32_t index, int* bad);
  Status (*program)(const Ctx* c);

  // The chips that the model has kernels for, least capable first; at least one.
  const VariantInfo* variants;
  int32_t variant_count;

  // See dnn_device.h; null if all blocks run on the processor.
  const DeviceInfo* device = nullptr;

  // See dnn_remote.h; null if the model runs in this process. Otherwise `program` is the fallback
  // that runs if the DSP cannot be reached and the options allow it.
  const RemoteInfo* remote = nullptr;
};

// The caller's options. The first member is the struct's own size, so that later versions can add
// members: members beyond that size have their defaults, and 0 or null always means the default.
struct Options {
  size_t size;
  const void* weights;  // a weights file, aligned to kAlignment; the caller keeps ownership
  size_t weights_bytes;
  // Set both or neither. allocate may return null; release receives the memory that allocate
  // returned.
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes);
  void* allocator_user;
  int32_t workers;  // threads of a context, its caller included; 0 means 1
  // Replaces the runtime's own threads. It calls body(arg, i) once for each i in [0, count), in any
  // order, possibly concurrently, and returns when all calls have returned. count is at most
  // workers.
  void (*parallel_for)(void* user, int32_t count, void (*body)(void* arg, int32_t index),
                       void* arg);
  void* parallel_user;
  int32_t keep_denormals;  // 1: compute with denormal floats; 0: treat them as zeros
  // 1: check the hash of all weights in the file; 0: check only the header and the length. The type
  // is int64_t so that the member begins where older structs ended, padding included.
  int64_t verify_weights;
  // The name of the chip whose kernels run. Null: the chip that the environment variable
  // DNN_VARIANT names; without it, the last of the model's chips whose features this processor has.
  const char* variant;
  // The cores that threads 1..workers-1 of a context run on, in the notation of dnn_cores.h: "all",
  // "big", "0xf0" or "4-7,2". The caller's own thread stays where it is. Null or empty: the threads
  // may run where the thread that creates the context may. Linux and Android only; not with
  // parallel_for.
  const char* cores;
};
static_assert(offsetof(Options, cores) == offsetof(Options, variant) + sizeof(const char*),
              "no padding between");
static_assert(offsetof(Options, variant) == offsetof(Options, verify_weights) + sizeof(int64_t),
              "no padding between");
static_assert(offsetof(Options, verify_weights) % sizeof(void*) == 0 &&
                  offsetof(Options, verify_weights) >=
                      offsetof(Options, keep_denormals) + sizeof(int32_t),
              "a caller's struct without the member ends before it");

// The options of a model that runs on a device.
struct DeviceOptions {
  Options host;
  const char* platform;  // an index, or a part of the name; null: any
  const char* device;  // an index, or a part of the name, on that platform; null: the first GPU, or
                       // else the first device
  void* context;       // the application's cl_context
  void* queue;         // its in-order cl_command_queue; null: the runtime creates one
  const char* cache;   // the folder of compiled kernels; null: they are not stored
  char* message;       // receives the reason if creation fails; may be null
  size_t message_bytes;
  // Whether the driver records launches so that runs can replay them. 0: if that makes runs start
  // sooner; 1: if the driver has command buffers; -1: never.
  int64_t command_buffers;
};
static_assert(offsetof(DeviceOptions, platform) == sizeof(Options), "no padding between");

// The options of a model that runs on a DSP.
struct RemoteOptions {
  Options host;         // weights and variant apply to the processor's kernels
  const char* library;  // the skeleton's file; null: the name that the model's build chose
  char* message;        // receives the reason if creation fails; may be null
  size_t message_bytes;
  int32_t fallback;        // 1: the processor runs the model if no DSP does; 0: creation fails
  int32_t signed_process;  // 1: the library is signed; 0: request an unsigned process
};
static_assert(offsetof(RemoteOptions, library) == sizeof(Options), "no padding between");

// The header of a weights file. The weights follow it; they are kAlignment-aligned if the file is.
struct WeightsHeader {
  char magic[8];   // kWeightsMagic
  uint64_t bytes;  // size of the weights; little-endian
  uint8_t hash[32];
  uint8_t zero[kAlignment - 48];
};
static_assert(sizeof(WeightsHeader) == kAlignment, "weights follow their header aligned");
#define RULES_DNN_WEIGHTS_MAGIC "DNNWTS01"

struct Model;
struct Context;

// Creates a model; options may be null. The model's memory is freed after it and all its contexts
// are destroyed.
Status ModelCreate(const Description* description, const Options* options, Model** model);
void ModelDestroy(Model* model);

// Returns the index in Description::variants of the chip whose kernels the model runs.
int32_t ModelVariant(const Model* model);

// Returns the name of that chip; empty if model is null.
const char* VariantName(const Model* model);

Status ContextCreate(Model* model, Context** context);
void ContextDestroy(Context* context);

// In the functions below, sym has Description::symbol_count values. Computed symbols are ignored.
// sym may be null if given_count is 0.

// Checks that the symbols are within their bounds, that all checks hold and that all sizes are
// possible.
Status CheckDims(const Description* d, const int64_t* sym);

// Writes the reason why CheckDims rejects the symbols: one sentence that names the symbol or the
// node, and the values. Writes at most `capacity` bytes including the final zero. Returns the
// length of the whole sentence, or 0 if CheckDims accepts the symbols.
size_t ExplainDims(const Description* d, const int64_t* sym, char* text, size_t capacity);

// Returns the arena's size in bytes for the symbols, or a negated status.
int64_t ArenaBytes(const Description* d, const int64_t* sym);

// Returns the size in bytes of an input or output, or a negated status. If it depends on computed
// symbols, it is the maximum that a run can write.
int64_t TensorBytes(const Description* d, const TensorInfo* tensor, const int64_t* sym);

// Computes the dimensions of an input or output; computed symbols count with their maximum.
Status TensorShape(const Description* d, const TensorInfo* tensor, const int64_t* sym,
                   int64_t* shape);

// Compares the sizes of buffers with TensorBytes. Output buffers may be larger than needed.
Status CheckSizes(const Description* d, const int64_t* sym, const size_t* in_bytes,
                  const size_t* out_bytes);

// Allocates the memory that runs with these symbols need, so that the runs themselves do not
// allocate it.
Status Reserve(Context* context, const int64_t* sym);

// Runs the model; in and out have a pointer for each input and output.
Status Run(Context* context, const int64_t* sym, const void* const* in, void* const* out);

// The memory of an input or output of a run that Start begins: device memory from a byte offset on,
// or, if memory is null, host memory.
struct Buffer {
  void* memory;  // an OpenCL cl_mem, created in the context that the options brought
  size_t offset;
  void* host;
};

// Driver events (cl_event in OpenCL): those that a run waits for, and one that signals its end.
struct Events {
  int32_t wait_count;
  void* const* wait;
  void** done;  // receives an event that the caller owns; null: no event is created
};

// Starts a run of a model that runs on a device; in and out have a Buffer for each input and
// output. Start returns when all work is enqueued, or, if outputs are in host memory, when they are
// written. If the device rejects a value, Wait or the next Run reports it. events may be null.
Status Start(Context* context, const int64_t* sym, const Buffer* in, const Buffer* out,
             const Events* events);

// Waits for all runs that Start began; returns the status of the one that failed.
Status Wait(Context* context);

// Writes the reason why the context's last run or reservation failed: one sentence that names the
// node, the buffer or the symbol. Writes and returns as ExplainDims does; returns 0 if nothing
// failed.
size_t ExplainRun(const Context* context, char* text, size_t capacity);

// Called before (done is false) and after (done is true) each block of a run, on the thread that
// runs the model. c->sym has the current values of the symbols. For a block in a loop it is called
// in each iteration.
using Observer = void (*)(void* user, const Ctx* c, int32_t block, bool done);

// Sets the observer of the context's runs; null removes it.
void Observe(Context* context, Observer observer, void* user);

// Observes the kernels that runs launch on a device.
struct LaunchObserver {
  // Called at each launch of a block's kernel; c->sym has the current values of the symbols. May be
  // null.
  void (*launched)(void* user, const Ctx* c, int32_t block);
  // Receives a kernel's duration in milliseconds, by the driver's clocks, after the run has ended.
  // Null: kernels are not timed.
  void (*took)(void* user, int32_t block, double ms);
  void* user;
};

// Sets the observer of launches of the context's runs; null removes it, and so does a failure. The
// caller keeps ownership of the observer. Timed kernels run on a separate queue; they are not
// ordered after commands that the application enqueues meanwhile on its own queue.
Status ObserveLaunches(Context* context, const LaunchObserver* observer);

// Allocates memory that a model on a DSP reads and writes without copies; runs on the processor
// accept it like any other memory. It remains valid until ReleaseShared, even after the model is
// destroyed. Only for models with Description::remote.
Status AllocateShared(Model* model, size_t bytes, void** memory);
void ReleaseShared(Model* model, void* memory);

// Returns the model's device state, for the functions of its backend; null if the model has no
// device.
DeviceModel* DeviceOf(const Model* model);

// Computes the dimensions that an output had in the last successful run.
Status ResultShape(const Context* context, const TensorInfo* output, int64_t* shape);

// Returns one sentence about a status; never null.
const char* StatusMessage(Status status);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_MODEL_H_
