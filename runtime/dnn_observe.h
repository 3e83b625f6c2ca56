// Observation of the values that blocks compute, in programs compiled for it (dnnc compile
// --observe).
#ifndef RULES_DNN_RUNTIME_DNN_OBSERVE_H_
#define RULES_DNN_RUNTIME_DNN_OBSERVE_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// A part of an axis in a value's layout. For index i along the axis, the part's index is i /
// within, modulo `size` unless that is 0. Parts are ordered from outermost to innermost.
struct ValuePart {
  int32_t axis;
  int64_t within, size;
  int64_t extent;  // number of points of the part in memory, padding included
};

// A value that a block computed. The generated header declares the same struct for users.
struct Value {
  const char* name;
  const char* type;
  int32_t element_bytes;
  int32_t rank;
  const int64_t* dims;  // in this run
  const char* layout;
  const void* data;  // null: the value is in the device's memory
  const ValuePart* parts;
  int32_t part_count;
};

// A block of the program.
struct ValueBlock {
  int32_t number;
  const char* kernel;
  const char* nodes;
};

// Receives values. `tell` gets the results of a block on the thread that runs the program; its
// arguments are valid until it returns. callback is the caller's own function; `tell` knows its
// type.
struct ValueObserver {
  void (*tell)(const ValueObserver& observer, const ValueBlock* block, const Value* values,
               int32_t count);  // null: no observer
  void (*callback)(void);
  void* user;
};

// Sets the observer of values of a context's runs.
Status ObserveValues(Context* context, const ValueObserver& observer);

// Copies a value's elements to `to` in row-major order, `bytes` in all.
Status ValueRowMajor(const Value* value, void* to, size_t bytes);

// Observes reports whether a run has an observer of values; TellObserver calls it.
bool Observes(const Ctx* c);
void TellObserver(const Ctx* c, const ValueBlock& block, const Value* values, int32_t count);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_OBSERVE_H_
