#include "runtime/serve/npy.h"

#include <cstdio>
#include <cstring>

namespace rules_dnn::serve {
namespace {

struct TypeRow {
  const char* name;
  const char* code;  // NumPy's, without the byte order
  size_t bytes;
};

// Reading uses the first row with a file's code.
constexpr TypeRow kTypes[] = {
    {"bool", "b1", 1}, {"i8", "i1", 1},  {"i16", "i2", 2},  {"i32", "i4", 4}, {"i64", "i8", 8},
    {"u8", "u1", 1},   {"u16", "u2", 2}, {"u32", "u4", 4},  {"u64", "u8", 8}, {"f16", "f2", 2},
    {"f32", "f4", 4},  {"f64", "f8", 8}, {"bf16", "u2", 2},
};

const TypeRow* FindType(const std::string& name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

const TypeRow* FindCode(const std::string& code) {
  for (const TypeRow& row : kTypes) {
    if (code == row.code) return &row;
  }
  return nullptr;
}

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

// Finds the value of a key in the header's Python dict, up to but excluding a character of `end`.
bool Field(const std::string& header, const std::string& key, const char* end, std::string* out) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) return false;
  at = header.find(':', at);
  if (at == std::string::npos) return false;
  at = header.find_first_not_of(" ", at + 1);
  const size_t stop = header.find_first_of(end, at);
  if (at == std::string::npos || stop == std::string::npos) return false;
  *out = header.substr(at, stop - at);
  return true;
}

bool ParseShape(const std::string& text, std::vector<int64_t>* shape) {
  if (text.empty() || text[0] != '(') return false;
  for (size_t at = 1; at < text.size();) {
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    int64_t value = 0;
    const size_t first = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      if (value > INT64_MAX / 16) return false;
      value = value * 10 + (text[at] - '0');
    }
    if (at == first) return false;
    shape->push_back(value);
  }
  return true;
}

std::string ParseHeader(const std::string& header, Array* array, size_t* bytes) {
  std::string descr, order, shape;
  if (!Field(header, "descr", ",}", &descr) || !Field(header, "fortran_order", ",}", &order) ||
      !Field(header, "shape", ")", &shape)) {
    return "its header does not describe an array of numbers";
  }
  if (descr.size() != 5 || descr.front() != '\'' || descr.back() != '\'') {
    return "its type " + descr + " is not supported";
  }
  const TypeRow* const type = FindCode(descr.substr(2, 2));
  const bool ordered = descr[1] == '<' || (descr[1] == '|' && type != nullptr && type->bytes == 1);
  if (type == nullptr || !ordered) return "its type " + descr + " is not supported";
  if (order != "False") return "it is in Fortran order; save numpy.ascontiguousarray(x)";
  if (!ParseShape(shape, &array->shape)) return "its shape " + shape + ") cannot be read";
  array->type = type->name;
  *bytes = type->bytes;
  for (const int64_t dim : array->shape) {
    if (__builtin_mul_overflow(*bytes, static_cast<size_t>(dim), bytes)) return "it is too large";
  }
  return "";
}

std::string ParseFile(const Buffer& file, Array* array) {
  const unsigned char* const p = file.data();
  if (file.size() < 10 || std::memcmp(p, kMagic, kMagicBytes) != 0) return "it is not a .npy file";
  const int version = p[6];
  if (version < 1 || version > 3) return "its version is not supported";
  const size_t start = version == 1 ? 10 : 12;
  if (file.size() < start) return "it ends too early";
  size_t length = p[8] | static_cast<size_t>(p[9]) << 8;
  if (version > 1) length |= static_cast<size_t>(p[10]) << 16 | static_cast<size_t>(p[11]) << 24;
  if (file.size() - start < length) return "it ends too early";
  const std::string header(reinterpret_cast<const char*>(p) + start, length);
  size_t bytes = 0;
  const std::string error = ParseHeader(header, array, &bytes);
  if (!error.empty()) return error;
  if (file.size() - start - length != bytes) return "its size does not match its shape";
  if (!array->data.Resize(bytes)) return "out of memory";
  std::memcpy(array->data.data(), p + start + length, bytes);
  return "";
}

}  // namespace

size_t ElementBytes(const std::string& type) {
  const TypeRow* const row = FindType(type);
  return row == nullptr ? 0 : row->bytes;
}

std::string ReadNpy(const std::string& path, Array* array) {
  *array = Array();
  Buffer file;
  if (!ReadFile(path.c_str(), &file)) return path + ": the file cannot be read";
  const std::string error = ParseFile(file, array);
  return error.empty() ? "" : path + ": " + error;
}

std::string WriteNpy(const std::string& path, const std::string& type,
                     const std::vector<int64_t>& shape, const void* data) {
  const TypeRow* const row = FindType(type);
  if (row == nullptr) return path + ": .npy files have no type " + type;
  std::string dims;
  size_t bytes = row->bytes;
  for (const int64_t dim : shape) {
    dims += std::to_string(dim) + ",";
    bytes *= static_cast<size_t>(dim);
  }
  std::string header = std::string("{'descr': '") + (row->bytes == 1 ? "|" : "<") + row->code +
                       "', 'fortran_order': False, 'shape': (" + dims + "), }";
  // The data must begin at a multiple of 64.
  while ((kMagicBytes + 4 + header.size() + 1) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  if (header.size() > 0xffff) return path + ": the shape is too long";
  std::string head(kMagic, kMagicBytes);
  head += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  head += header;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return path + ": the file cannot be written";
  bool ok = std::fwrite(head.data(), 1, head.size(), file) == head.size();
  ok = ok && (bytes == 0 || std::fwrite(data, 1, bytes, file) == bytes);
  ok = std::fclose(file) == 0 && ok;
  return ok ? "" : path + ": writing failed";
}

}  // namespace rules_dnn::serve
