/* Calls printed C APIs in every right and wrong way. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constant.h"
#include "fake.v1.h"
#include "rows.h"

int wrapper_works(void);

/* The size of rows' weights file, header included. */
enum { ROWS_FILE = 64 + 121 };

static int failures = 0;

#define CHECK(x)                                         \
  do {                                                   \
    if (!(x)) {                                          \
      printf("line %d: %s is not true\n", __LINE__, #x); \
      ++failures;                                        \
    }                                                    \
  } while (0)

/* An allocator that counts and can be told to fail. */
static long live_bytes = 0, allocations = 0, fail_at = -1;

static void* allocate(void* user, size_t bytes, size_t alignment) {
  void* p = NULL;
  CHECK(user == &live_bytes && alignment == 64);
  if (allocations++ == fail_at || posix_memalign(&p, alignment, bytes) != 0) return NULL;
  live_bytes += (long)bytes;
  return p;
}

static void release(void* user, void* p, size_t bytes) {
  CHECK(user == &live_bytes && p != NULL);
  live_bytes -= (long)bytes;
  free(p);
}

static void backwards(void* user, int32_t count, void (*body)(void*, int32_t), void* arg) {
  *(int*)user += 1;
  while (count-- > 0) body(arg, count);
}

/* Runs each part in a thread of its own. */
struct part {
  void (*body)(void*, int32_t);
  void* arg;
  int32_t index;
};

static void* run_part(void* p) {
  const struct part* const part = p;
  part->body(part->arg, part->index);
  return NULL;
}

static void in_threads(void* user, int32_t count, void (*body)(void*, int32_t), void* arg) {
  pthread_t threads[8];
  struct part parts[8];
  int32_t i;
  (void)user;
  CHECK(count <= 8);
  for (i = 0; i < count && i < 8; ++i) {
    parts[i].body = body;
    parts[i].arg = arg;
    parts[i].index = i;
    CHECK(pthread_create(&threads[i], NULL, run_part, &parts[i]) == 0);
  }
  for (i = 0; i < count && i < 8; ++i) pthread_join(threads[i], NULL);
}

static app_fake_options with_allocator(void) {
  app_fake_options o;
  memset(&o, 0, sizeof o);
  o.size = sizeof o;
  o.allocate = allocate;
  o.release = release;
  o.allocator_user = &live_bytes;
  return o;
}

/* Runs with the dims and compares with what the program should compute. */
static app_fake_status run(app_fake_context* c, int64_t n, int64_t h) {
  const app_fake_dims dims = {n, h};
  const int64_t rows = (h + 1) / 2;
  float* image = calloc((size_t)(n * 3 * h + 1), sizeof(float));
  float* y = calloc((size_t)(n * 4), sizeof(float));
  uint8_t* z = calloc((size_t)(rows * n + 1), 1);
  const int64_t scalar = 7;
  const void* in[2];
  void* out[2];
  app_fake_status status;
  int64_t i, k;
  in[0] = image;
  in[1] = &scalar;
  out[0] = y;
  out[1] = z;
  for (i = 0; i < n * 3 * h; ++i) image[i] = (float)(i % 5);
  status = app_fake_run(c, &dims, in, out);
  for (i = 0; i < n && status == app_fake_OK; ++i) {
    float sum = 7;
    for (k = 0; k < 3 * h; ++k) sum += image[i * 3 * h + k];
    for (k = 0; k < 4; ++k) CHECK(y[i * 4 + k] == sum * (float)(k + 1));
    for (k = 0; k < rows; ++k) CHECK(z[k * n + i] == (uint8_t)(i + k));
  }
  free(image);
  free(y);
  free(z);
  return status;
}

static void check_runs(int workers, int own_loop) {
  app_fake_options o = with_allocator();
  app_fake_model* m = NULL;
  app_fake_context* c = NULL;
  int calls = 0, i;
  long before;
  o.workers = workers;
  if (own_loop) {
    o.parallel_for = backwards;
    o.parallel_user = &calls;
  }
  CHECK(app_fake_create(&o, &m) == app_fake_OK);
  CHECK(app_fake_context_create(m, &c) == app_fake_OK);
  CHECK(run(c, 1, 1) == app_fake_OK);
  CHECK(run(c, 5, 33) == app_fake_OK);
  CHECK(run(c, 3, 0) == app_fake_OK);
  CHECK(run(c, 64, 17) == app_fake_OK);
  before = allocations;
  for (i = 0; i < 300; ++i) CHECK(run(c, 1 + i % 7, 17) == app_fake_OK);
  CHECK(allocations == before);
  CHECK(!own_loop || workers < 2 || calls > 300);
  app_fake_destroy(m); /* the context still needs it */
  CHECK(run(c, 2, 2) == app_fake_OK);
  app_fake_context_destroy(c);
  CHECK(live_bytes == 0);
}

/* Threads on chosen cores; what "big" and "all" mean depends on the machine. */
static void check_cores(void) {
  const char* const right[] = {"", "all", "big"};
  const char* const wrong[] = {"huge", "0x", "1-", "1023", "4096"};
  app_fake_options o = with_allocator();
  app_fake_model* m = NULL;
  app_fake_context* c = NULL;
  size_t i;
  o.workers = 3;
  for (i = 0; i < sizeof right / sizeof right[0]; ++i) {
    o.cores = right[i];
    CHECK(app_fake_create(&o, &m) == app_fake_OK);
    CHECK(app_fake_context_create(m, &c) == app_fake_OK);
    CHECK(run(c, 64, 17) == app_fake_OK);
    app_fake_destroy(m);
    app_fake_context_destroy(c);
  }
  for (i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    o.cores = wrong[i];
    CHECK(app_fake_create(&o, &m) == app_fake_THREADS && m == NULL);
  }
  o.cores = "all";
  o.parallel_for = backwards; /* its threads are not the runtime's */
  CHECK(app_fake_create(&o, &m) == app_fake_BAD_OPTIONS && m == NULL);
  CHECK(live_bytes == 0);
}

static void check_create(void) {
  app_fake_options o = with_allocator();
  app_fake_model* m = NULL;
  app_fake_context* c = NULL;
  struct {
    app_fake_options o;
    char later[8];
  } longer;
  CHECK(app_fake_create(NULL, NULL) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_create(NULL, &m) == app_fake_OK && m != NULL);
  CHECK(app_fake_context_create(m, NULL) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_context_create(NULL, &c) == app_fake_NULL_ARGUMENT);
  app_fake_destroy(m);
  app_fake_destroy(NULL);
  app_fake_context_destroy(NULL);
  o.size = 0;
  CHECK(app_fake_create(&o, &m) == app_fake_BAD_OPTIONS && m == NULL);
  o.size = 1u << 30;
  CHECK(app_fake_create(&o, &m) == app_fake_BAD_OPTIONS);
  o.size = sizeof(size_t); /* an early caller's struct: all defaults */
  CHECK(app_fake_create(&o, &m) == app_fake_OK && live_bytes == 0);
  app_fake_destroy(m);
  o = with_allocator();
  o.release = NULL;
  CHECK(app_fake_create(&o, &m) == app_fake_BAD_OPTIONS);
  o = with_allocator();
  o.workers = -1;
  CHECK(app_fake_create(&o, &m) == app_fake_THREADS);
  o.workers = 1025;
  CHECK(app_fake_create(&o, &m) == app_fake_THREADS);
  check_cores();
  memset(&longer, 0, sizeof longer); /* a later caller's struct */
  longer.o.size = sizeof longer;
  CHECK(app_fake_create(&longer.o, &m) == app_fake_OK);
  app_fake_destroy(m);
  longer.later[7] = 1;
  CHECK(app_fake_create(&longer.o, &m) == app_fake_BAD_OPTIONS);
}

/* The chip whose kernels run: of one library's only chip, and of another's two, of which no
 * processor has the second one's features. */
static void check_variants(void) {
  app_fake_options o = with_allocator();
  app_fake_model* m = NULL;
  rows_options r;
  rows_model* of_rows = NULL;
  CHECK(app_fake_VARIANT_COUNT == 1 && rows_VARIANT_COUNT == 2);
  CHECK(strcmp(app_fake_variant(NULL), "") == 0);
  CHECK(app_fake_create(NULL, &m) == app_fake_OK &&
        strcmp(app_fake_variant(m), "any \"chip\"") == 0);
  app_fake_destroy(m);
  o.variant = "any \"chip\"";
  CHECK(app_fake_create(&o, &m) == app_fake_OK && strcmp(app_fake_variant(m), "any \"chip\"") == 0);
  app_fake_destroy(m);
  o.variant = "another";
  CHECK(app_fake_create(&o, &m) == app_fake_UNKNOWN_VARIANT && m == NULL);
  o.size = offsetof(app_fake_options,
                    variant); /* of a library that had no such member: it is not read */
  CHECK(app_fake_create(&o, &m) == app_fake_OK);
  app_fake_destroy(m);
  memset(&r, 0, sizeof r);
  r.size = sizeof r;
  CHECK(rows_create(&r, &of_rows) == rows_NO_WEIGHTS);
  r.variant = "narrow";
  CHECK(rows_create(&r, &of_rows) == rows_NO_WEIGHTS);
  r.variant = "wide";
  CHECK(rows_create(&r, &of_rows) == rows_UNSUPPORTED_CPU && of_rows == NULL);
  CHECK(setenv("DNN_VARIANT", "wide", 1) == 0);
  CHECK(rows_create(NULL, &of_rows) == rows_UNSUPPORTED_CPU);
  CHECK(app_fake_create(NULL, &m) == app_fake_UNKNOWN_VARIANT);
  r.variant = "narrow"; /* an option counts more */
  CHECK(rows_create(&r, &of_rows) == rows_NO_WEIGHTS);
  CHECK(unsetenv("DNN_VARIANT") == 0);
}

/* An options struct of any size: what is beyond ours must be zero. */
static void check_option_sizes(void) {
  union {
    app_fake_options o;
    unsigned char bytes[sizeof(app_fake_options) + 64];
  } u;
  size_t size, i;
  for (size = 0; size <= sizeof u; ++size) {
    const int clean = size >= sizeof(size_t);
    app_fake_model* m = NULL;
    memset(&u, 0, sizeof u);
    u.o.size = size;
    CHECK(app_fake_create(&u.o, &m) == (clean ? app_fake_OK : app_fake_BAD_OPTIONS));
    CHECK((m != NULL) == clean);
    app_fake_destroy(m);
    for (i = size; i < sizeof u.bytes; ++i) u.bytes[i] = 0xff; /* beyond the struct: not read */
    if (clean) {
      CHECK(app_fake_create(&u.o, &m) == app_fake_OK);
      app_fake_destroy(m);
    }
    if (size > sizeof(app_fake_options)) {
      u.bytes[size - 1] = 1;
      CHECK(app_fake_create(&u.o, &m) == app_fake_BAD_OPTIONS && m == NULL);
    }
  }
}

/* Null for each pointer of each function. */
static void check_nulls(void) {
  app_fake_options o = with_allocator();
  const app_fake_dims d = {2, 5};
  app_fake_model* m = NULL;
  app_fake_context* c = NULL;
  int64_t shape[3];
  size_t sizes[2] = {0, 0};
  char text[100];
  const void* in[2] = {NULL, NULL};
  void* out[2] = {NULL, NULL};
  const int32_t null = app_fake_NULL_ARGUMENT;
  CHECK((int32_t)app_fake_create(&o, NULL) == null);
  CHECK(app_fake_create(&o, &m) == app_fake_OK);
  CHECK((int32_t)app_fake_context_create(NULL, &c) == null && c == NULL);
  CHECK((int32_t)app_fake_context_create(m, NULL) == null);
  CHECK(app_fake_context_create(m, &c) == app_fake_OK);
  app_fake_destroy(NULL);
  app_fake_context_destroy(NULL);
  CHECK((int32_t)app_fake_check_dims(NULL) == null);
  CHECK(app_fake_explain_dims(NULL, text, sizeof text) > 0 &&
        app_fake_explain_dims(&d, NULL, 9) == 0);
  CHECK(app_fake_explain_dims(NULL, NULL, 9) > 0);
  CHECK(app_fake_arena_bytes(NULL) == -null);
  CHECK(app_fake_input_bytes(NULL, 0) == -null && app_fake_output_bytes(NULL, 0) == -null);
  CHECK((int32_t)app_fake_input_shape(NULL, 0, shape) == null);
  CHECK((int32_t)app_fake_input_shape(&d, 0, NULL) == null);
  CHECK((int32_t)app_fake_output_shape(NULL, 0, shape) == null);
  CHECK((int32_t)app_fake_output_shape(&d, 0, NULL) == null);
  CHECK((int32_t)app_fake_check_sizes(NULL, sizes, sizes) == null);
  CHECK((int32_t)app_fake_check_sizes(&d, NULL, sizes) == null);
  CHECK((int32_t)app_fake_check_sizes(&d, sizes, NULL) == null);
  CHECK((int32_t)app_fake_reserve(NULL, &d) == null && (int32_t)app_fake_reserve(c, NULL) == null);
  CHECK((int32_t)app_fake_run(NULL, &d, in, out) == null);
  CHECK((int32_t)app_fake_run(c, NULL, in, out) == null);
  CHECK((int32_t)app_fake_run(c, &d, NULL, out) == null);
  CHECK((int32_t)app_fake_run(c, &d, in, NULL) == null);
  CHECK((int32_t)app_fake_run(c, &d, in, out) == null);
  CHECK((int32_t)app_fake_result_shape(NULL, 0, shape) == null);
  CHECK((int32_t)app_fake_result_shape(c, 0, NULL) == null);
  CHECK(app_fake_explain_run(NULL, text, sizeof text) == strlen(text) && text[0] == 'a');
  CHECK(app_fake_explain_run(c, NULL, 9) > 0);
  app_fake_context_destroy(c);
  app_fake_destroy(m);
  CHECK(live_bytes == 0);
}

/* What can be asked about dims says that they are not possible, with the same status, or answers.
 */
static void all_agree(const app_fake_dims* d, app_fake_status status) {
  const int64_t no = status == app_fake_OK ? 0 : -(int64_t)status;
  const size_t none[2] = {0, 0};
  int64_t shape[3];
  int32_t i;
  const app_fake_status sizes = app_fake_check_sizes(d, none, none);
  CHECK(no ? app_fake_arena_bytes(d) == no : app_fake_arena_bytes(d) >= 0);
  for (i = 0; i < 2; ++i) {
    CHECK(no ? app_fake_input_bytes(d, i) == no : app_fake_input_bytes(d, i) >= 0);
    CHECK(no ? app_fake_output_bytes(d, i) == no : app_fake_output_bytes(d, i) >= 0);
    CHECK(app_fake_input_shape(d, i, shape) == status);
    CHECK(app_fake_output_shape(d, i, shape) == status);
  }
  CHECK(sizes == (no ? status : app_fake_BUFFER_SIZE));
}

/* Dims from one end of 64 bits to the other: all functions agree on whether they are possible. */
static void check_extreme_dims(void) {
  const int64_t values[] = {
      INT64_MIN,  INT64_MIN + 1, -2147483648,   -1,       0, 1, 2, 63, 64, 65, 1 << 30,
      2147483647, 2147483648,    INT64_MAX - 1, INT64_MAX};
  const int count = sizeof values / sizeof values[0];
  app_fake_model* m = NULL;
  app_fake_context* c = NULL;
  int i, k;
  CHECK(app_fake_create(NULL, &m) == app_fake_OK && app_fake_context_create(m, &c) == app_fake_OK);
  for (i = 0; i < count; ++i) {
    for (k = 0; k < count; ++k) {
      const app_fake_dims d = {values[i], values[k]};
      const app_fake_status status = app_fake_check_dims(&d);
      CHECK((status == app_fake_OK) == (app_fake_explain_dims(&d, NULL, 0) == 0));
      CHECK((status == app_fake_BAD_DIMS) ==
            (values[i] < 1 || values[i] > 64 || values[k] < 0 || values[k] > 2147483647));
      all_agree(&d, status);
      if (status == app_fake_OK && app_fake_arena_bytes(&d) > 1 << 20) continue; /* much memory */
      CHECK(app_fake_reserve(c, &d) == status);
      CHECK((app_fake_explain_run(c, NULL, 0) == 0) == (status == app_fake_OK));
    }
  }
  app_fake_context_destroy(c);
  app_fake_destroy(m);
}

/* Everything that a caller does, with an allocator that fails at its k-th call, for every k until
   none fails: each call comes to OUT_OF_MEMORY, and nothing leaks. */
static rows_status all_of_rows(const rows_options* o) {
  rows_model* m = NULL;
  rows_context* c = NULL;
  const rows_dims d = {6};
  const float x[6] = {1, -1, 2, 0, 3, -5};
  int64_t y[6] = {0};
  const void* in[1];
  void* out[1];
  rows_status status = rows_create(o, &m);
  in[0] = x, out[0] = y;
  if (status == rows_OK) status = rows_context_create(m, &c);
  if (status == rows_OK) status = rows_reserve(c, &d);
  if (status == rows_OK) status = rows_run(c, &d, in, out);
  if (status == rows_OK) CHECK(y[0] == 0 && y[1] == 2 && y[2] == 4);
  if (c != NULL) CHECK((rows_explain_run(c, NULL, 0) == 0) == (status == rows_OK));
  rows_context_destroy(c);
  rows_destroy(m);
  return status;
}

static void check_each_allocation(const void* weights, size_t bytes) {
  rows_options o;
  long k;
  memset(&o, 0, sizeof o);
  o.size = sizeof o;
  o.weights = weights, o.weights_bytes = bytes;
  o.allocate = allocate, o.release = release, o.allocator_user = &live_bytes;
  for (o.workers = 1; o.workers <= 3; ++o.workers) {
    rows_status status = rows_OUT_OF_MEMORY;
    for (k = 0; status != rows_OK && k < 100; ++k) {
      allocations = 0;
      fail_at = k;
      status = all_of_rows(&o);
      CHECK(status == (allocations > k ? rows_OUT_OF_MEMORY : rows_OK));
      CHECK(live_bytes == 0);
    }
    CHECK(status == rows_OK && k == 6); /* model, context, arena, two of the run, none */
  }
  fail_at = -1;
}

/* Each allocation fails in turn; nothing leaks, and the context works afterwards. */
static void check_failing_allocator(void) {
  app_fake_options o = with_allocator();
  app_fake_model* m = NULL;
  app_fake_context* c = NULL;
  o.workers = 2;
  allocations = 0;
  fail_at = 0;
  CHECK(app_fake_create(&o, &m) == app_fake_OUT_OF_MEMORY && m == NULL);
  allocations = 0;
  fail_at = 1;
  CHECK(app_fake_create(&o, &m) == app_fake_OK);
  CHECK(app_fake_context_create(m, &c) == app_fake_OUT_OF_MEMORY && c == NULL);
  fail_at = -1;
  CHECK(app_fake_context_create(m, &c) == app_fake_OK);
  fail_at = allocations;
  CHECK(run(c, 2, 8) == app_fake_OUT_OF_MEMORY);
  CHECK(run(c, 2, 8) == app_fake_OK);
  fail_at = allocations;
  CHECK(run(c, 2, 800) == app_fake_OUT_OF_MEMORY);
  fail_at = -1;
  CHECK(run(c, 2, 8) == app_fake_OK);
  app_fake_context_destroy(c);
  app_fake_destroy(m);
  CHECK(live_bytes == 0);
}

static void check_dims(void) {
  app_fake_dims d = {2, 5};
  int64_t shape[3] = {0, 0, 0};
  size_t in[2] = {2 * 3 * 5 * 4, 8}, out[2] = {2 * 4 * 4, 6};
  CHECK(app_fake_check_dims(&d) == app_fake_OK);
  CHECK(app_fake_check_dims(NULL) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_arena_bytes(&d) == 2 * 3 * 25 &&
        app_fake_arena_bytes(NULL) == -app_fake_NULL_ARGUMENT);
  CHECK(app_fake_input_bytes(&d, 0) == 120 && app_fake_input_bytes(&d, 1) == 8);
  CHECK(app_fake_output_bytes(&d, 1) == 6);
  CHECK(app_fake_input_bytes(&d, 2) == -app_fake_BAD_INDEX &&
        app_fake_output_bytes(&d, -1) == -app_fake_BAD_INDEX);
  CHECK(app_fake_input_shape(&d, 0, shape) == app_fake_OK && shape[0] == 2 && shape[1] == 3 &&
        shape[2] == 5);
  CHECK(app_fake_input_shape(&d, 1, NULL) == app_fake_OK); /* a scalar */
  CHECK(app_fake_output_shape(&d, 1, shape) == app_fake_OK && shape[0] == 3 && shape[1] == 2);
  CHECK(app_fake_output_shape(&d, 1, NULL) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_output_shape(&d, 9, shape) == app_fake_BAD_INDEX);
  CHECK(app_fake_check_sizes(&d, in, out) == app_fake_OK);
  CHECK(app_fake_check_sizes(&d, NULL, out) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_check_sizes(&d, in, NULL) == app_fake_NULL_ARGUMENT);
  out[1] = 100;
  CHECK(app_fake_check_sizes(&d, in, out) == app_fake_OK);
  out[1] = 5;
  CHECK(app_fake_check_sizes(&d, in, out) == app_fake_BUFFER_SIZE);
  in[1] = 9;
  CHECK(app_fake_check_sizes(&d, in, out) == app_fake_BUFFER_SIZE);
  d.batch_size = 65;
  CHECK(app_fake_check_dims(&d) == app_fake_BAD_DIMS &&
        app_fake_arena_bytes(&d) == -app_fake_BAD_DIMS);
  CHECK(app_fake_input_bytes(&d, 0) == -app_fake_BAD_DIMS);
  d.batch_size = 1;
  d.H = -1;
  CHECK(app_fake_check_dims(&d) == app_fake_BAD_DIMS);
  d.batch_size = 64;
  d.H = 2147483647; /* the arena's size leaves 64 bits */
  CHECK(app_fake_check_dims(&d) == app_fake_TOO_LARGE &&
        app_fake_arena_bytes(&d) == -app_fake_TOO_LARGE);
}

static int explains_rows(int64_t n, const char* want) {
  char text[200];
  const rows_dims d = {n};
  const size_t length = rows_explain_dims(&d, text, sizeof text);
  const rows_status status = rows_check_dims(&d);
  if (strcmp(text, want) != 0) printf("%ld: %s\n", (long)n, text);
  return length == strlen(want) && (status == rows_OK) == (length == 0) &&
         rows_output_bytes(&d, 0) == (length == 0 ? 8 * n : -rows_BAD_DIMS) &&
         strcmp(text, want) == 0;
}

static void check_explanations(void) {
  app_fake_dims d = {65, 5};
  char text[20];
  CHECK(explains_rows(12, ""));
  CHECK(explains_rows(1001, "the dimension N is 1001; it must be 0 to 1000"));
  CHECK(explains_rows(INT64_MIN, "the dimension N is -9223372036854775808; it must be 0 to 1000"));
  CHECK(explains_rows(4, "Reshape \"*/ \"a\": threes: ((N) % (3)) is 1 and 0"));
  CHECK(explains_rows(15,
                      "Add: dimensions must be equal or 1 to broadcast: ((N) // (3)) is 5 and "
                      "min(((N) // (3)), 4) is 4"));
  CHECK(rows_explain_dims(NULL, NULL, 0) > 10);
  CHECK(app_fake_explain_dims(&d, text, sizeof text) > sizeof text);
  CHECK(strcmp(text, "the dimension batch") == 0);
  d.batch_size = 64;
  d.H = 2147483647;
  CHECK(app_fake_explain_dims(&d, NULL, 0) == strlen(app_fake_status_message(app_fake_TOO_LARGE)));
}

/* Denormal numbers are zeros in a run if nothing else is asked for, in all workers, and never in
 * the caller's own arithmetic. */
static void check_denormals(int workers, int own_loop, int keep) {
#if defined(__x86_64__) || defined(__aarch64__)
  const int zero = !keep;
#else
  const int zero = 0;
#endif
  app_fake_options o = with_allocator();
  app_fake_model* m = NULL;
  app_fake_context* c = NULL;
  const app_fake_dims d = {4, 1};
  volatile float tiny = 1e-40f;
  float image[12] = {0}, y[16];
  const int64_t scalar = 0;
  uint8_t z[4];
  const void* in[2];
  void* out[2];
  int calls = 0, i;
  in[0] = image, in[1] = &scalar, out[0] = y, out[1] = z;
  for (i = 0; i < 4; ++i) image[3 * i] = tiny;
  o.workers = workers;
  o.keep_denormals = keep;
  if (own_loop) {
    o.parallel_for = backwards;
    o.parallel_user = &calls;
  }
  CHECK(app_fake_create(&o, &m) == app_fake_OK && app_fake_context_create(m, &c) == app_fake_OK);
  CHECK(app_fake_run(c, &d, in, out) == app_fake_OK);
  for (i = 0; i < 16; ++i) CHECK(memcmp(&y[i], "\0\0\0\0", 4) == 0 ? zero : !zero);
  CHECK(tiny * 2 > tiny);
  app_fake_context_destroy(c);
  app_fake_destroy(m);
}

static void check_run_arguments(void) {
  app_fake_model* m = NULL;
  app_fake_context* c = NULL;
  const app_fake_dims d = {1, 2}, bad = {65, 2};
  char text[200];
  float image[8] = {0}, y[4];
  int64_t scalar = 0, shape[2];
  uint8_t z[2];
  const void* in[2];
  void* out[2];
  in[0] = image, in[1] = &scalar, out[0] = y, out[1] = z;
  CHECK(app_fake_create(NULL, &m) == app_fake_OK && app_fake_context_create(m, &c) == app_fake_OK);
  CHECK(app_fake_result_shape(c, 0, shape) == app_fake_BAD_DIMS);
  CHECK(app_fake_reserve(c, &d) == app_fake_OK &&
        app_fake_reserve(NULL, &d) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_run(NULL, &d, in, out) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_run(c, NULL, in, out) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_run(c, &d, NULL, out) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_run(c, &d, in, NULL) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_run(c, &d, in, out) == app_fake_OK);
  CHECK(app_fake_result_shape(c, 1, shape) == app_fake_OK && shape[0] == 1 && shape[1] == 1);
  CHECK(app_fake_result_shape(c, 2, shape) == app_fake_BAD_INDEX);
  CHECK(app_fake_explain_run(c, text, sizeof text) == 0 && text[0] == 0);
  scalar = -1;
  CHECK(app_fake_run(c, &d, in, out) == app_fake_BAD_VALUE);
  CHECK(app_fake_explain_run(c, text, sizeof text) == strlen(text));
  CHECK(strncmp(text, "Gather \"rows\": an input's value is outside", 42) == 0);
  CHECK(app_fake_run(c, &bad, in, out) == app_fake_BAD_DIMS);
  CHECK(app_fake_explain_run(c, text, sizeof text) == strlen(text));
  CHECK(strcmp(text, "the dimension batch size is 65; it must be 1 to 64") == 0);
  CHECK(app_fake_reserve(c, &d) == app_fake_OK && app_fake_explain_run(c, text, 9) == 0);
  CHECK(app_fake_result_shape(c, 1, shape) == app_fake_BAD_DIMS);
  scalar = 0;
  in[1] = NULL;
  CHECK(app_fake_run(c, &d, in, out) == app_fake_NULL_ARGUMENT);
  CHECK(app_fake_explain_run(c, text, sizeof text) == strlen(text));
  CHECK(strcmp(text, "input */ int x; \": a required pointer is null") == 0);
  in[1] = (const char*)&scalar + 1;
  CHECK(app_fake_run(c, &d, in, out) == app_fake_MISALIGNED);
  in[1] = &scalar;
  out[0] = NULL;
  CHECK(app_fake_run(c, &d, in, out) == app_fake_NULL_ARGUMENT);
  out[0] = &image[5]; /* the input's last element */
  CHECK(app_fake_run(c, &d, in, out) == app_fake_OVERLAP);
  out[0] = y, out[1] = (uint8_t*)y + 15;
  CHECK(app_fake_run(c, &d, in, out) == app_fake_OVERLAP);
  CHECK(app_fake_explain_run(c, text, sizeof text) == strlen(text));
  CHECK(strcmp(text, "output int: an output overlaps another input or output") == 0);
  out[1] = z;
  CHECK(app_fake_run(c, &d, in, out) == app_fake_OK);
  app_fake_context_destroy(c);
  app_fake_destroy(m);
}

/* What create says of a weights file, with and without its content. */
static rows_status create_with(const void* weights, size_t bytes, int verify) {
  rows_options o;
  rows_model* m = NULL;
  rows_status status;
  memset(&o, 0, sizeof o);
  o.size = sizeof o;
  o.weights = weights, o.weights_bytes = bytes;
  o.verify_weights = verify;
  status = rows_create(&o, &m);
  CHECK((m != NULL) == (status == rows_OK));
  rows_destroy(m);
  return status;
}

/* Each way in which a weights file may be wrong has its own status and message. */
static void check_weights(const unsigned char* file) {
  _Alignas(64) unsigned char wrong[ROWS_FILE + 64];
  const rows_status statuses[] = {rows_NO_WEIGHTS, rows_WEIGHTS_ALIGNMENT, rows_WEIGHTS_LENGTH,
                                  rows_BAD_WEIGHTS, rows_WEIGHTS_DAMAGED};
  const char* const messages[] = {"missing", "aligned", "truncated", "another model", "damaged"};
  rows_model* m = NULL;
  size_t i, k;
  CHECK(rows_create(NULL, &m) == rows_NO_WEIGHTS);
  CHECK(create_with(NULL, 0, 1) == rows_NO_WEIGHTS && create_with(NULL, 99, 0) == rows_NO_WEIGHTS);
  CHECK(create_with(file, ROWS_FILE, 0) == rows_OK && create_with(file, ROWS_FILE, 1) == rows_OK);
  memset(wrong, 0, sizeof wrong);
  memcpy(wrong, file, ROWS_FILE);
  for (i = 0; i <= sizeof wrong; ++i) {
    if (i != ROWS_FILE) CHECK(create_with(wrong, i, i % 2) == rows_WEIGHTS_LENGTH);
  }
  for (i = 1; i < 64; ++i) {
    memcpy(wrong + i, file, ROWS_FILE);
    CHECK(create_with(wrong + i, ROWS_FILE, 0) == rows_WEIGHTS_ALIGNMENT);
  }
  memcpy(wrong, file, ROWS_FILE);
  for (i = 0; i < 8 * (size_t)ROWS_FILE; ++i) {
    const size_t byte = i / 8;
    const rows_status status =
        byte < 8 || (byte >= 16 && byte < 48) ? rows_BAD_WEIGHTS : rows_WEIGHTS_DAMAGED;
    wrong[byte] ^= (unsigned char)(1 << i % 8);
    CHECK(create_with(wrong, ROWS_FILE, 1) == status);
    CHECK(create_with(wrong, ROWS_FILE, 0) == (byte < 64 ? status : rows_OK));
    wrong[byte] = file[byte];
  }
  CHECK(create_with("no weights file", 15, 1) == rows_WEIGHTS_ALIGNMENT ||
        create_with("no weights file", 15, 1) == rows_BAD_WEIGHTS);
  wrong[0] = 'x';
  CHECK(create_with(wrong, 1, 0) == rows_BAD_WEIGHTS);
  for (i = 0; i < 5; ++i) {
    CHECK(strstr(rows_status_message(statuses[i]), messages[i]) != NULL);
    for (k = 0; k < i; ++k) CHECK(statuses[i] != statuses[k]);
  }
}

/* A model whose weights come from a file and whose output has rows that the run counts. */
static void check_rows(const char* path) {
  _Alignas(64) unsigned char file[ROWS_FILE];
  rows_options o;
  rows_model* m = NULL;
  rows_context* c = NULL;
  rows_dims d = {6};
  const float x[6] = {1, -1, 2, 0, 3, -5};
  int64_t y[6] = {0}, shape[2] = {0, 0};
  const void* in[1];
  void* out[1];
  FILE* f = fopen(path, "rb");
  CHECK(f != NULL && fread(file, 1, sizeof file, f) == sizeof file);
  if (f != NULL) fclose(f);
  in[0] = x, out[0] = y;
  memset(&o, 0, sizeof o);
  o.size = sizeof o;
  check_weights(file);
  o.weights = file, o.weights_bytes = sizeof file;
  o.allocate = allocate, o.release = release, o.allocator_user = &live_bytes;
  check_each_allocation(file, sizeof file);
  CHECK(rows_create(&o, &m) == rows_OK && rows_context_create(m, &c) == rows_OK);
  CHECK(rows_output_bytes(&d, 0) == 48 && rows_output_shape(&d, 0, shape) == rows_OK &&
        shape[1] == 6);
  CHECK(rows_run(c, &d, in, out) == rows_OK);
  CHECK(y[0] == 0 && y[1] == 2 && y[2] == 4);
  CHECK(rows_result_shape(c, 0, shape) == rows_OK && shape[0] == 1 && shape[1] == 3);
  fail_at = allocations + 1;
  CHECK(rows_run(c, &d, in, out) == rows_OUT_OF_MEMORY);
  fail_at = -1;
  d.N = 0;
  in[0] = NULL, out[0] = NULL; /* nothing to read or write */
  CHECK(rows_run(c, &d, in, out) == rows_OK && rows_result_shape(c, 0, shape) == rows_OK &&
        shape[1] == 0);
  rows_context_destroy(c);
  rows_destroy(m);
  CHECK(live_bytes == 0);
}

static void check_constant(void) {
  constant_options o;
  constant_model* m = NULL;
  constant_context* c = NULL;
  uint16_t y[2];
  void* out[1];
  out[0] = y;
  memset(&o, 0, sizeof o);
  o.size = sizeof o;
  CHECK(constant_create(&o, &m) == constant_OK && constant_context_create(m, &c) == constant_OK);
  CHECK(constant_run(c, NULL, NULL, out) == constant_OK && y[0] == 0x3c00 && y[1] == 0xbc00);
  CHECK(constant_run(c, NULL, NULL, out) == constant_OK);
  CHECK(constant_OUTPUT_y_BYTES == sizeof y && constant_output_bytes(NULL, 0) == 4);
  constant_context_destroy(c);
  constant_destroy(m);
}

static void check_constants(void) {
  const int64_t shape[app_fake_INPUT_image_RANK] = app_fake_INPUT_image_SHAPE;
  CHECK(app_fake_INPUT_COUNT == 2 && app_fake_OUTPUT_COUNT == 2);
  CHECK(shape[0] == -1 && shape[1] == 3 && shape[2] == -1);
  CHECK(strcmp(app_fake_INPUT_image_TYPE, "f32") == 0 && app_fake_INPUT_image_INDEX == 0);
  CHECK(strcmp(app_fake_INPUT_int_x_NAME, "*/ int x; \"") == 0 && app_fake_INPUT_int_x_BYTES == 8);
  CHECK(strcmp(app_fake_status_message(app_fake_OK), "ok") == 0);
  CHECK(strstr(app_fake_status_message(app_fake_BAD_DIMS), "dimension") != NULL);
  CHECK(strstr(app_fake_status_message((app_fake_status)99), "unknown") != NULL);
}

static void* many_runs(void* model) {
  app_fake_context* c = NULL;
  int i;
  CHECK(app_fake_context_create(model, &c) == app_fake_OK);
  for (i = 0; i < 50; ++i) CHECK(run(c, 1 + i % 9, 12) == app_fake_OK);
  app_fake_context_destroy(c);
  return NULL;
}

/* Several threads, each with a context of one model: with threads of the runtime's, or of the
 * caller's. */
static void check_threads(int own_loop) {
  app_fake_options o;
  app_fake_model* m = NULL;
  pthread_t t[3];
  int i;
  memset(&o, 0, sizeof o);
  o.size = sizeof o;
  o.workers = own_loop ? 4 : 2;
  if (own_loop) o.parallel_for = in_threads;
  CHECK(app_fake_create(&o, &m) == app_fake_OK);
  for (i = 0; i < 3; ++i) CHECK(pthread_create(&t[i], NULL, many_runs, m) == 0);
  for (i = 0; i < 3; ++i) pthread_join(t[i], NULL);
  app_fake_destroy(m);
}

int main(int argc, char** argv) {
  int workers;
  if (argc != 2) return 2;
  for (workers = 0; workers <= 5; ++workers) {
    check_runs(workers, 0);
    check_runs(workers, 1);
  }
  check_create();
  check_option_sizes();
  check_variants();
  check_nulls();
  check_extreme_dims();
  check_failing_allocator();
  check_dims();
  check_explanations();
  for (workers = 1; workers <= 2; ++workers) {
    check_denormals(workers, 0, 0);
    check_denormals(workers, 0, 1);
    check_denormals(workers, workers - 1, 0);
  }
  check_run_arguments();
  check_rows(argv[1]);
  check_constant();
  check_constants();
  check_threads(0);
  check_threads(1);
  CHECK(wrapper_works());
  if (failures == 0) printf("all checks passed\n");
  return failures != 0;
}
