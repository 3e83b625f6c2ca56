#include "runtime/dnn_cores.h"

#include "runtime/dnn_system.h"

#if !defined(__linux__) || defined(RULES_DNN_BARE)

namespace rules_dnn {
inline namespace v1 {

bool ParseCores(const char*, const char*, CoreSet*) { return false; }
bool BindThread(const CoreSet&) { return false; }
bool AddThreadCores(CoreSet*) { return false; }

}  // namespace v1
}  // namespace rules_dnn

#else

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace rules_dnn {
inline namespace v1 {
namespace {

// Reads a decimal number up to `limit`, and moves *text behind it.
bool ReadNumber(const char** text, int64_t limit, int64_t* number) {
  const char* p = *text;
  int64_t n = 0;
  for (; *p >= '0' && *p <= '9'; ++p) {
    n = n * 10 + (*p - '0');
    if (n > limit) return false;
  }
  if (p == *text) return false;
  *text = p;
  *number = n;
  return true;
}

// Reads "4-7,2" up to `end`.
bool ReadList(const char* text, const char* end, CoreSet* cores) {
  for (;; ++text) {
    int64_t first = 0, last = 0;
    if (!ReadNumber(&text, kMaxCores - 1, &first)) return false;
    last = first;
    if (*text == '-' && !ReadNumber(&++text, kMaxCores - 1, &last)) return false;
    if (last < first) return false;
    for (int64_t i = first; i <= last; ++i) cores->Add(static_cast<int>(i));
    if (text == end) return true;
    if (*text != ',') return false;
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Reads the digits of a mask.
bool ReadMask(const char* text, CoreSet* cores) {
  const size_t length = strlen(text);
  if (length == 0 || length > kMaxCores / 4) return false;
  for (size_t i = 0; i < length; ++i) {
    const int digit = HexDigit(text[length - 1 - i]);
    if (digit < 0) return false;
    cores->bits[i / 16] |= static_cast<uint64_t>(digit) << (i % 16 * 4);
  }
  return true;
}

// A path that is put together without stdio, which would enlarge every program.
class Path {
 public:
  explicit Path(const char* folder) { Add(folder); }
  Path& Add(const char* text) {
    const size_t n = strlen(text);
    fits_ = fits_ && n < sizeof(text_) - length_;
    if (fits_) memcpy(text_ + length_, text, n + 1);
    length_ += fits_ ? n : 0;
    return *this;
  }
  Path& Add(int number) {
    if (number >= 10) Add(number / 10);
    const char digit[] = {static_cast<char>('0' + number % 10), 0};
    return Add(digit);
  }
  const char* text() const { return fits_ ? text_ : ""; }

 private:
  char text_[512] = "";
  size_t length_ = 0;
  bool fits_ = true;
};

// Reads the first line of a file; returns its length, or -1 if the file cannot be read.
template <size_t N>
int ReadLine(const Path& path, char (&line)[N]) {
  const int file = open(path.text(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t bytes = read(file, line, N - 1);
  close(file);
  if (bytes < 0) return -1;
  line[bytes] = 0;
  line[strcspn(line, "\n")] = 0;
  return static_cast<int>(strlen(line));
}

bool ReadPresent(const char* folder, CoreSet* cores) {
  char line[4096];
  const int length = ReadLine(Path(folder).Add("/present"), line);
  return length > 0 && ReadList(line, line + length, cores);
}

// Returns the number in a core's file; 0 without such a file.
int64_t ReadValue(const char* folder, int core, const char* file) {
  char line[32];
  const char* text = line;
  int64_t value = 0;
  const int length = ReadLine(Path(folder).Add("/cpu").Add(core).Add(file), line);
  return length > 0 && ReadNumber(&text, INT64_MAX / 32, &value) ? value : 0;
}

// Selects the cores whose value exceeds 1.1 times the smallest; if none does, all that have one.
// Returns false if no core has the file.
bool SelectBig(const char* folder, const char* file, const CoreSet& present, CoreSet* cores) {
  CoreSet all = {}, big = {};
  int64_t smallest = INT64_MAX;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < kMaxCores; ++i) {
      const int64_t value = present.Has(i) ? ReadValue(folder, i, file) : 0;
      if (value == 0) continue;
      all.Add(i);
      if (pass == 0 && value < smallest) smallest = value;
      if (pass == 1 && value - smallest > smallest / 10) big.Add(i);
    }
  }
  if (all.Count() == 0) return false;
  *cores = big.Count() > 0 ? big : all;
  return true;
}

bool Within(const CoreSet& cores, const CoreSet& present) {
  uint64_t any = 0;
  for (int i = 0; i < kMaxCores / 64; ++i) {
    if ((cores.bits[i] & ~present.bits[i]) != 0) return false;
    any |= cores.bits[i];
  }
  return any != 0;
}

}  // namespace

bool ParseCores(const char* text, const char* folder, CoreSet* cores) {
  *cores = {};
  CoreSet present = {};
  if (!ReadPresent(folder, &present)) return false;
  if (strcmp(text, "all") == 0) {
    *cores = present;
  } else if (strcmp(text, "big") == 0) {
    if (!SelectBig(folder, "/cpu_capacity", present, cores) &&
        !SelectBig(folder, "/cpufreq/cpuinfo_max_freq", present, cores)) {
      *cores = present;
    }
  } else if (text[0] == '0' && text[1] == 'x') {
    if (!ReadMask(text + 2, cores)) return false;
  } else if (!ReadList(text, text + strlen(text), cores)) {
    return false;
  }
  return Within(*cores, present);
}

bool BindThread(const CoreSet& cores) {
  cpu_set_t set;
  static_assert(sizeof(set) * 8 <= kMaxCores, "a core of cpu_set_t for each number");
  CPU_ZERO(&set);
  for (int i = 0; i < static_cast<int>(sizeof(set)) * 8; ++i) {
    if (cores.Has(i)) CPU_SET(static_cast<size_t>(i), &set);
  }
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

bool AddThreadCores(CoreSet* cores) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return false;
  for (int i = 0; i < static_cast<int>(sizeof(set)) * 8; ++i) {
    if (CPU_ISSET(static_cast<size_t>(i), &set)) cores->Add(i);
  }
  return true;
}

}  // namespace v1
}  // namespace rules_dnn

#endif  // __linux__
