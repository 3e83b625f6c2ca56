#include "app/inflate.h"

#include <cstring>

namespace app {
namespace {

constexpr int kMaxBits = 15;
constexpr int kEndOfBlock = 256;

struct Extra {
  uint16_t base;
  uint8_t bits;
};

constexpr Extra kLengths[] = {
    {3, 0},  {4, 0},  {5, 0},  {6, 0},   {7, 0},   {8, 0},   {9, 0},   {10, 0},  {11, 1}, {13, 1},
    {15, 1}, {17, 1}, {19, 2}, {23, 2},  {27, 2},  {31, 2},  {35, 3},  {43, 3},  {51, 3}, {59, 3},
    {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}};

constexpr Extra kDistances[] = {{1, 0},     {2, 0},     {3, 0},      {4, 0},      {5, 1},
                                {7, 1},     {9, 2},     {13, 2},     {17, 3},     {25, 3},
                                {33, 4},    {49, 4},    {65, 5},     {97, 5},     {129, 6},
                                {193, 6},   {257, 7},   {385, 7},    {513, 8},    {769, 8},
                                {1025, 9},  {1537, 9},  {2049, 10},  {3073, 10},  {4097, 11},
                                {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}};

// A canonical Huffman code: the number of codes of each length, and the symbols ordered by code.
struct Code {
  uint16_t count[kMaxBits + 1];
  uint16_t symbols[288];

  // Returns false if no prefix code has these lengths. An incomplete code is allowed; reading a
  // missing code is an error.
  bool Build(const uint8_t* lengths, int n) {
    std::memset(count, 0, sizeof(count));
    for (int i = 0; i < n; ++i) ++count[lengths[i]];
    count[0] = 0;
    int left = 1;
    uint16_t start[kMaxBits + 2] = {};
    for (int bits = 1; bits <= kMaxBits; ++bits) {
      left = 2 * left - count[bits];
      if (left < 0) return false;
      start[bits + 1] = static_cast<uint16_t>(start[bits] + count[bits]);
    }
    for (int i = 0; i < n; ++i) {
      if (lengths[i] != 0) symbols[start[lengths[i]]++] = static_cast<uint16_t>(i);
    }
    return true;
  }
};

class Inflater {
 public:
  Inflater(const std::vector<uint8_t>& in, size_t size, std::vector<uint8_t>* out)
      : in_(in), size_(size), out_(out) {}

  std::string Run() {
    if (in_.size() < 6 || in_[0] % 16 != 8 || (in_[0] * 256 + in_[1]) % 31 != 0) {
      return "the image data are not a zlib stream";
    }
    if (in_[1] & 0x20) return "the image data need a dictionary";
    at_ = 2;
    out_->clear();
    out_->reserve(size_);
    for (bool last = false; !last && error_ == nullptr;) {
      last = Bits(1) == 1;
      Block(Bits(2));
    }
    if (error_ == nullptr && out_->size() != size_) Fail("the image data are too short");
    if (error_ == nullptr && !ChecksumFits()) Fail("the image data's checksum is wrong");
    return error_ == nullptr ? "" : error_;
  }

 private:
  void Fail(const char* what) {
    if (error_ == nullptr) error_ = what;
  }

  // Returns the next n bits, least significant first; 0 after an error.
  uint32_t Bits(int n) {
    while (held_ < n) {
      if (at_ >= in_.size()) {
        Fail("the image data are truncated");
        return 0;
      }
      hold_ |= static_cast<uint32_t>(in_[at_++]) << held_;
      held_ += 8;
    }
    const uint32_t bits = hold_ & ((1u << n) - 1);
    hold_ >>= n;
    held_ -= n;
    return bits;
  }

  // Reads the next symbol of a code, bit by bit; returns -1 after an error.
  int Symbol(const Code& code) {
    int value = 0, first = 0, index = 0;
    for (int bits = 1; bits <= kMaxBits && error_ == nullptr; ++bits) {
      value |= static_cast<int>(Bits(1));
      const int count = code.count[bits];
      if (value - first < count) return code.symbols[index + value - first];
      index += count;
      first = (first + count) * 2;
      value *= 2;
    }
    Fail("the image data have a code that does not exist");
    return -1;
  }

  void Put(uint8_t byte) {
    if (out_->size() == size_) return Fail("the image data are too long");
    out_->push_back(byte);
  }

  void Block(uint32_t type) {
    Code literals, distances;
    switch (error_ == nullptr ? type : 3) {
      case 0:
        return Stored();
      case 1:
        FixedCodes(&literals, &distances);
        return Compressed(literals, distances);
      case 2:
        if (DynamicCodes(&literals, &distances)) Compressed(literals, distances);
        return;
      default:
        Fail("the image data have a block of unknown type");
    }
  }

  void Stored() {
    hold_ = 0;
    held_ = 0;
    const uint32_t length = Bits(16);
    if ((Bits(16) ^ 0xffff) != length) return Fail("the image data have a wrong block length");
    for (uint32_t i = 0; i < length && error_ == nullptr; ++i) Put(static_cast<uint8_t>(Bits(8)));
  }

  static void FixedCodes(Code* literals, Code* distances) {
    uint8_t lengths[288];
    for (int i = 0; i < 288; ++i) {
      lengths[i] = static_cast<uint8_t>(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    }
    literals->Build(lengths, 288);
    std::memset(lengths, 5, 30);
    distances->Build(lengths, 30);
  }

  bool DynamicCodes(Code* literals, Code* distances) {
    static constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                         11, 4,  12, 3, 13, 2, 14, 1, 15};
    const int n_literals = static_cast<int>(Bits(5)) + 257;
    const int n_distances = static_cast<int>(Bits(5)) + 1;
    const int n_lengths = static_cast<int>(Bits(4)) + 4;
    uint8_t lengths[320] = {};
    for (int i = 0; i < n_lengths; ++i) lengths[kOrder[i]] = static_cast<uint8_t>(Bits(3));
    Code code;
    bool ok = n_literals <= 286 && n_distances <= 30 && code.Build(lengths, 19);
    ok = ok && CodeLengths(code, n_literals + n_distances, lengths);
    ok = ok && lengths[kEndOfBlock] != 0 && literals->Build(lengths, n_literals) &&
         distances->Build(lengths + n_literals, n_distances);
    if (!ok) Fail("the image data have an invalid code");
    return ok;
  }

  bool CodeLengths(const Code& code, int n, uint8_t* lengths) {
    for (int i = 0; i < n;) {
      const int symbol = Symbol(code);
      if (symbol < 0) return false;
      if (symbol < 16) {
        lengths[i++] = static_cast<uint8_t>(symbol);
        continue;
      }
      if (symbol == 16 && i == 0) return false;
      const uint8_t value = symbol == 16 ? lengths[i - 1] : uint8_t{0};
      const uint32_t repeat = symbol == 16   ? 3 + Bits(2)
                              : symbol == 17 ? 3 + Bits(3)
                                             : 11 + Bits(7);
      if (repeat > static_cast<uint32_t>(n - i)) return false;
      std::memset(lengths + i, value, repeat);
      i += static_cast<int>(repeat);
    }
    return true;
  }

  void Compressed(const Code& literals, const Code& distances) {
    while (error_ == nullptr) {
      const int symbol = Symbol(literals);
      if (symbol == kEndOfBlock) return;
      if (symbol < 0) return;
      if (symbol < 256) {
        Put(static_cast<uint8_t>(symbol));
      } else if (symbol > 285) {
        Fail("the image data have a code that does not exist");
      } else {
        const Extra& length = kLengths[symbol - 257];
        const uint32_t n = length.base + Bits(length.bits);
        Copy(n, Symbol(distances));
      }
    }
  }

  void Copy(uint32_t n, int distance_symbol) {
    if (distance_symbol < 0) return;
    const Extra& far = kDistances[distance_symbol];
    const size_t distance = far.base + Bits(far.bits);
    if (distance > out_->size())
      return Fail("the image data refer to bytes before their beginning");
    for (uint32_t i = 0; i < n && error_ == nullptr; ++i) Put((*out_)[out_->size() - distance]);
  }

  bool ChecksumFits() {
    uint32_t a = 1, b = 0;
    for (const uint8_t byte : *out_) {
      a = (a + byte) % 65521;
      b = (b + a) % 65521;
    }
    hold_ = 0;
    held_ = 0;
    uint32_t want = 0;
    for (int i = 0; i < 4; ++i) want = want << 8 | Bits(8);
    return want == (b << 16 | a);
  }

  const std::vector<uint8_t>& in_;
  const size_t size_;
  std::vector<uint8_t>* const out_;
  size_t at_ = 0;
  uint32_t hold_ = 0;  // bits that were read but are not used yet
  int held_ = 0;
  const char* error_ = nullptr;
};

}  // namespace

std::string Inflate(const std::vector<uint8_t>& in, size_t size, std::vector<uint8_t>* out) {
  return Inflater(in, size, out).Run();
}

}  // namespace app
