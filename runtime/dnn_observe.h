// What programs say of the values that their blocks compute, where they were compiled to do so
// (dnnc compile --observe), and who is told.
#ifndef RULES_DNN_RUNTIME_DNN_OBSERVE_H_
#define RULES_DNN_RUNTIME_DNN_OBSERVE_H_

#include "runtime/dnn_model.h"

namespace rules_dnn {
inline namespace v1 {

// A part of an axis in a value's layout. An index i along the axis is i / within there, modulo
// `size` unless that is 0; parts lie in their order, outermost first.
struct ValuePart {
  int32_t axis;
  int64_t within, size;
  int64_t extent;  // points that storage has of the part, padding included
};

// A value that a block computed. The generated header declares the same for users.
struct Value {
  const char* name;
  const char* type;
  int32_t element_bytes;
  int32_t rank;
  const int64_t* dims;  // of this run
  const char* layout;
  const void* data;  // null: the value lies on the device
  const ValuePart* parts;
  int32_t part_count;
};

// A block of the program.
struct ValueBlock {
  int32_t number;
  const char* kernel;
  const char* nodes;
};

// Who is told. `tell` gets the results of a block, on the thread that runs the program, and what it
// gets is of use until it returns. callback is the caller's own function, of a type that `tell`
// knows.
struct ValueObserver {
  void (*tell)(const ValueObserver& observer, const ValueBlock* block, const Value* values,
               int32_t count);  // null: nobody is told
  void (*callback)(void);
  void* user;
};

// Has runs of a context tell an observer.
Status ObserveValues(Context* context, const ValueObserver& observer);

// Writes a value's elements in row-major order, `bytes` in all.
Status ValueRowMajor(const Value* value, void* to, size_t bytes);

// Whether somebody is told of values in a run, and telling it.
bool Observes(const Ctx* c);
void TellObserver(const Ctx* c, const ValueBlock& block, const Value* values, int32_t count);

}  // namespace v1
}  // namespace rules_dnn

#endif  // RULES_DNN_RUNTIME_DNN_OBSERVE_H_
