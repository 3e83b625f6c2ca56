#include "classifier.h"

#include "net.h"

static net_model* model;
static net_context* context;

int classifier_create(void) {
  net_status status = net_create(NULL, &model);
  if (status == net_OK) status = net_context_create(model, &context);
  return (int)status;
}

int classifier_run(const float* image, float* logits) {
  const void* const in[] = {image};
  void* const out[] = {logits};
  return (int)net_run(context, NULL, in, out);  // no dims, because all dimensions are numbers
}

void classifier_destroy(void) {
  net_context_destroy(context);
  net_destroy(model);
}
