// Tests decoding and resizing with generated pictures: every kind of pixel and filter, and every
// error of a file.
#include "app/image.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/inflate.h"

namespace {

using app::Image;
using Bytes = std::vector<uint8_t>;

int failures = 0;

void Check(bool ok, const char* what, int line) {
  if (ok) return;
  std::printf("line %d: %s is not true\n", line, what);
  ++failures;
}
#define CHECK(x) Check((x), #x, __LINE__)

void Put32(uint32_t x, Bytes* out) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<uint8_t>(x >> shift));
}

void Append(const Bytes& more, Bytes* out) { out->insert(out->end(), more.begin(), more.end()); }

Bytes Chunk(const std::string& type, const Bytes& data) {
  Bytes body(type.begin(), type.end()), out;
  Append(data, &body);
  uint32_t crc = 0xffffffff;
  for (const uint8_t byte : body) {
    crc ^= byte;
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  Put32(static_cast<uint32_t>(data.size()), &out);
  Append(body, &out);
  Put32(~crc, &out);
  return out;
}

// Returns a zlib stream of one uncompressed block.
Bytes Stored(const Bytes& data) {
  const auto n = static_cast<uint16_t>(data.size());
  Bytes out = {0x78,
               0x01,
               0x01,
               static_cast<uint8_t>(n),
               static_cast<uint8_t>(n >> 8),
               static_cast<uint8_t>(~n),
               static_cast<uint8_t>(~n >> 8)};
  Append(data, &out);
  uint32_t a = 1, b = 0;
  for (const uint8_t byte : data) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  Put32(b << 16 | a, &out);
  return out;
}

struct Parts {
  uint32_t width = 2, height = 2;
  uint8_t bits = 8, color = 2, interlace = 0;
  Bytes extra;  // chunks before the data
  Bytes rows;   // each begins with its filter's number
};

Bytes Png(const Parts& p) {
  Bytes out = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, header;
  Put32(p.width, &header);
  Put32(p.height, &header);
  Append({p.bits, p.color, 0, 0, p.interlace}, &header);
  Append(Chunk("IHDR", header), &out);
  Append(p.extra, &out);
  const Bytes data = Stored(p.rows);
  const auto half = data.begin() + static_cast<std::ptrdiff_t>(data.size() / 2);
  Append(Chunk("IDAT", Bytes(data.begin(), half)), &out);
  Append(Chunk("IDAT", Bytes(half, data.end())), &out);
  Append(Chunk("IEND", {}), &out);
  return out;
}

std::string Error(const Bytes& file) {
  Image image;
  return app::DecodePng(file, &image);
}

bool Fails(const Bytes& file, const char* with) {
  const std::string error = Error(file);
  if (error.find(with) != std::string::npos) return true;
  std::printf("error is: %s\n", error.c_str());
  return false;
}

bool Shows(const Parts& parts, const Bytes& rgb) {
  Image image;
  const std::string error = app::DecodePng(Png(parts), &image);
  if (!error.empty()) std::printf("error is: %s\n", error.c_str());
  return error.empty() && image.width == static_cast<int>(parts.width) && image.rgb == rgb;
}

void TestColors() {
  Parts p;
  p.height = 1;
  p.rows = {0, 1, 2, 3, 4, 5, 6};
  CHECK(Shows(p, {1, 2, 3, 4, 5, 6}));
  p.extra = Chunk("tRNS", {0, 4, 0, 5, 0, 6});
  CHECK(Shows(p, {1, 2, 3, 255, 255, 255}));
  p.extra = Chunk("teXt", {1, 2});  // a chunk that may be ignored
  p.color = 6;
  p.rows = {0, 10, 20, 30, 255, 10, 20, 30, 0};
  CHECK(Shows(p, {10, 20, 30, 255, 255, 255}));
  p.color = 4;
  p.rows = {0, 7, 255, 0, 51};
  CHECK(Shows(p, {7, 7, 7, 204, 204, 204}));
  p.color = 0;
  p.rows = {0, 7, 9};
  CHECK(Shows(p, {7, 7, 7, 9, 9, 9}));
  p.extra = Chunk("tRNS", {0, 7});
  CHECK(Shows(p, {255, 255, 255, 9, 9, 9}));
  p.color = 3;
  p.rows = {0, 1, 0};
  p.extra = Chunk("PLTE", {1, 2, 3, 4, 5, 6});
  CHECK(Shows(p, {4, 5, 6, 1, 2, 3}));
  Append(Chunk("tRNS", {0}), &p.extra);
  CHECK(Shows(p, {4, 5, 6, 255, 255, 255}));
  p.rows = {0, 2, 0};
  CHECK(Fails(Png(p), "not in its palette"));
}

// Applies each filter as its definition states.
void TestFilters() {
  constexpr int kWidth = 5, kChannels = 3, kStride = kWidth * kChannels, kHeight = 10;
  Bytes rgb, rows;
  for (int i = 0; i < kStride * kHeight; ++i) rgb.push_back(static_cast<uint8_t>(i * i * 31 + i));
  const auto at = [&](int y, int i) {
    return y < 0 || i < 0 ? 0 : int{rgb[static_cast<size_t>(y * kStride + i)]};
  };
  for (int y = 0; y < kHeight; ++y) {
    const int filter = y % 5;
    rows.push_back(static_cast<uint8_t>(filter));
    for (int i = 0; i < kStride; ++i) {
      const int a = at(y, i - kChannels), b = at(y - 1, i), c = at(y - 1, i - kChannels);
      const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
      const int paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      const int guess[] = {0, a, b, (a + b) / 2, paeth};
      rows.push_back(static_cast<uint8_t>(at(y, i) - guess[filter]));
    }
  }
  Parts p;
  p.width = kWidth;
  p.height = kHeight;
  p.rows = rows;
  CHECK(Shows(p, rgb));
  p.rows[0] = 5;
  CHECK(Fails(Png(p), "filter 5"));
}

void TestWrongFiles() {
  Parts good;
  good.rows = {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6};
  const Bytes file = Png(good);
  CHECK(Error(file).empty());
  CHECK(Fails({}, "not a PNG"));
  CHECK(Fails({'G', 'I', 'F', '8', '9', 'a', 0, 0, 0, 0}, "not a PNG"));
  Parts p = good;
  p.bits = 16;
  CHECK(Fails(Png(p), "16 bits a channel; 8 are supported"));
  p = good;
  p.interlace = 1;
  CHECK(Fails(Png(p), "interlaced"));
  p = good;
  p.color = 5;
  CHECK(Fails(Png(p), "color type 5"));
  p.color = 200;
  CHECK(Fails(Png(p), "color type 200"));
  p = good;
  p.width = 0;
  CHECK(Fails(Png(p), "no pixels"));
  p.width = 1u << 31;
  CHECK(Fails(Png(p), "too large"));
  p.width = p.height = 30000;
  CHECK(Fails(Png(p), "too large"));
  p = good;
  p.height = 3;
  CHECK(Fails(Png(p), "too short"));
  p.height = 1;
  CHECK(Fails(Png(p), "too long"));
  p = good;
  p.extra = Chunk("WHAT", {});
  CHECK(Fails(Png(p), "chunk WHAT is not known"));
  p.extra = Chunk("PLTE", {1});
  CHECK(Fails(Png(p), "palette"));
  for (size_t n = 0; n < file.size(); ++n) {
    CHECK(!Error(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n))).empty());
  }
  for (size_t i = 0; i < file.size(); ++i) {
    Bytes wrong = file;
    wrong[i] ^= 0x10;
    CHECK(!Error(wrong).empty());
  }
}

void TestInflate() {
  // Python's zlib produced these, with fixed and with dynamic codes.
  const Bytes fixed = {0x78, 0x01, 0x4b, 0x4c, 0x4a, 0x4e, 0x1c,
                       0x49, 0x08, 0x00, 0x41, 0xc5, 0x5b, 0xe1};
  std::string repeated;
  for (int i = 0; i < 80; ++i) repeated += "abc";
  Bytes out;
  CHECK(app::Inflate(fixed, 240, &out).empty());
  CHECK(std::string(out.begin(), out.end()) == repeated);
  CHECK(app::Inflate(fixed, 239, &out).find("too long") != std::string::npos);
  CHECK(app::Inflate(fixed, 241, &out).find("too short") != std::string::npos);
  const Bytes dynamic = {0x78, 0xda, 0x45, 0x8c, 0x81, 0x0d, 0x00, 0x30, 0x08, 0xc2, 0x6e, 0xa5,
                         0xfc, 0xff, 0xc3, 0x40, 0x97, 0xcd, 0x18, 0x44, 0x20, 0x08, 0xdb, 0xca,
                         0x04, 0xd0, 0x63, 0xd1, 0xe8, 0x29, 0x66, 0xe8, 0xd3, 0x65, 0x73, 0x3f,
                         0x3b, 0x0e, 0x23, 0x12, 0x8e, 0xaf, 0x59, 0xaa, 0x69, 0xd0, 0x26, 0x60,
                         0x7b, 0xbc, 0xc6, 0x01, 0xd1, 0x8b, 0x2d, 0xc4};
  CHECK(app::Inflate(dynamic, 120, &out).empty());
  CHECK(std::string(out.begin(), out.end()) ==
        "abcccaaaacaabacaaaacaabccabaabcabaaaaabbaabaababacaabaaabacaaaac"
        "bbaabbcaababbbabcbaaabacbabcaaabcaabaabbcbbaaabbacabcaaa");
  // For any bytes, decompression ends and returns an error or the same data (some bits are
  // padding).
  const Bytes right = out;
  for (size_t i = 0; i < dynamic.size() * 8; ++i) {
    Bytes wrong = dynamic;
    wrong[i / 8] = static_cast<uint8_t>(wrong[i / 8] ^ 1 << i % 8);
    CHECK(!app::Inflate(wrong, right.size(), &out).empty() || out == right);
  }
}

void TestResize() {
  Image image;
  image.width = 64;
  image.height = 96;
  for (int y = 0; y < 96; ++y) {
    for (int x = 0; x < 64; ++x) {
      Append({static_cast<uint8_t>(x), static_cast<uint8_t>(y), 9}, &image.rgb);
    }
  }
  std::vector<float> out = app::Resize(image, 32);
  CHECK(out.size() == 32 * 32 * 3);
  CHECK(std::fabs(out[0] - 0.5f) < 1e-5f && std::fabs(out[1] - 1.0f) < 1e-5f && out[2] == 9.0f);
  const size_t last = out.size() - 3;
  CHECK(std::fabs(out[last] - 62.5f) < 1e-4f && std::fabs(out[last + 1] - 94.0f) < 1e-4f);
  image = Image{3, 1, {0, 0, 0, 30, 30, 30, 60, 60, 60}};  // to 2: 1.5 pixels each
  out = app::Resize(image, 2);
  CHECK(std::fabs(out[0] - 10.0f) < 1e-5f && std::fabs(out[3] - 50.0f) < 1e-5f);
  CHECK(out[6] == out[0]);
  image = Image{1, 1, {1, 2, 3}};
  out = app::Resize(image, 32);
  CHECK(out[0] == 1.0f && out[last + 2] == 3.0f);
}

}  // namespace

int main() {
  TestColors();
  TestFilters();
  TestWrongFiles();
  TestInflate();
  TestResize();
  if (failures == 0) std::printf("all checks passed\n");
  return failures != 0;
}
