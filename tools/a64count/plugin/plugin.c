// Plugin of QEMU's user mode: counts how often each translated block of a 64-bit ARM program runs.
//
// It writes to the file of out=. A line "b ID ADDRESS WORD..." has the instructions of a translated
// block, in hexadecimal. At each system call of the number mark=, a line "m ID*RUNS ..." has the
// runs since the last one. Counters are not atomic: the program has one thread.
//
// It declares what it uses of QEMU (interface version 1: QEMU 4.2 to 8.2), so it needs no header.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { ADD_U64 };  // QEMU_PLUGIN_INLINE_ADD_U64

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id,
                                                  void (*)(plugin_id, struct qemu_plugin_tb*));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, int op, void* at,
                                                     uint64_t add);
extern void qemu_plugin_register_vcpu_syscall_cb(plugin_id,
                                                 void (*)(plugin_id, unsigned, int64_t, uint64_t,
                                                          uint64_t, uint64_t, uint64_t, uint64_t,
                                                          uint64_t, uint64_t, uint64_t));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb*);
extern struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
extern const void* qemu_plugin_insn_data(const struct qemu_plugin_insn*);
EXPORT int qemu_plugin_version = 1;

// Counters stay where they are: QEMU keeps their addresses.
struct counter {
  uint64_t runs, marked;
};
static struct counter** counters;
static size_t used, room;
static FILE* out;
static long mark = -1;

static void Translated(plugin_id id, struct qemu_plugin_tb* block) {
  (void)id;
  struct counter* c = calloc(1, sizeof *c);
  if (used == room) {
    room = room ? 2 * room : 1 << 16;
    counters = realloc(counters, room * sizeof *counters);
  }
  if (!c || !counters) abort();
  fprintf(out, "b %zu %" PRIx64, used, qemu_plugin_tb_vaddr(block));
  for (size_t i = 0, n = qemu_plugin_tb_n_insns(block); i < n; ++i) {
    uint32_t word;
    memcpy(&word, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(block, i)), sizeof word);
    fprintf(out, " %" PRIx32, word);
  }
  fputc('\n', out);
  counters[used++] = c;
  qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &c->runs, 1);
}

static void Called(plugin_id id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                   uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
  (void)id, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  if (number != mark) return;
  fputc('m', out);
  for (size_t i = 0; i < used; ++i) {
    if (counters[i]->runs != counters[i]->marked)
      fprintf(out, " %zu*%" PRIu64, i, counters[i]->runs - counters[i]->marked);
    counters[i]->marked = counters[i]->runs;
  }
  fputc('\n', out);
  fflush(out);
}

EXPORT int qemu_plugin_install(plugin_id id, const void* info, int argc, char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (!strncmp(argv[i], "out=", 4)) out = fopen(argv[i] + 4, "w");
    if (!strncmp(argv[i], "mark=", 5)) mark = atol(argv[i] + 5);
  }
  if (!out || mark < 0) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, Translated);
  qemu_plugin_register_vcpu_syscall_cb(id, Called);
  return 0;
}
