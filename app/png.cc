#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/image.h"
#include "app/inflate.h"

namespace app {
namespace {

constexpr uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

// Larger pictures are rejected before memory is allocated for them.
constexpr uint32_t kMaxSide = 1 << 15;
constexpr uint64_t kMaxPixels = 1 << 26;

uint32_t Big32(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 |
         static_cast<uint32_t>(p[2]) << 8 | p[3];
}

uint32_t Crc(const uint8_t* p, size_t n) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < n; ++i) {
    crc ^= p[i];
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

class Png {
 public:
  std::string Decode(const std::vector<uint8_t>& file, Image* image) {
    std::string error = ReadChunks(file);
    if (!error.empty()) return error;
    const size_t stride = width_ * channels_;
    std::vector<uint8_t> rows;
    error = Inflate(data_, (stride + 1) * height_, &rows);
    if (error.empty()) error = Unfilter(stride, &rows);
    if (error.empty()) error = ToRgb(rows, stride, image);
    return error;
  }

 private:
  std::string ReadChunks(const std::vector<uint8_t>& file) {
    if (file.size() < 8 || std::memcmp(file.data(), kSignature, 8) != 0)
      return "it is not a PNG file";
    for (size_t at = 8;;) {
      if (file.size() - at < 12) return "it is truncated";
      const uint8_t* const chunk = file.data() + at;
      const uint32_t length = Big32(chunk);
      if (length > file.size() - at - 12) return "it is truncated";
      const std::string type(reinterpret_cast<const char*>(chunk) + 4, 4);
      if (Crc(chunk + 4, length + size_t{4}) != Big32(chunk + 8 + length)) {
        return "the checksum of its chunk " + Printable(type) + " is wrong";
      }
      if (type == "IEND") return width_ == 0 ? "it has no header" : "";
      const std::string error = Chunk(type, chunk + 8, length);
      if (!error.empty()) return error;
      at += size_t{12} + length;
    }
  }

  static std::string Printable(std::string type) {
    for (char& c : type) c = c > ' ' && c < 0x7f ? c : '?';
    return type;
  }

  std::string Chunk(const std::string& type, const uint8_t* p, uint32_t n) {
    if (type == "IHDR") return width_ != 0 ? "it has two headers" : Header(p, n);
    if (width_ == 0) return "it does not begin with a header";
    if (type == "PLTE") {
      if (n % 3 != 0 || n > 768) return "its palette has a wrong size";
      palette_.assign(p, p + n);
    } else if (type == "tRNS") {
      transparent_.assign(p, p + n);
    } else if (type == "IDAT") {
      data_.insert(data_.end(), p, p + n);
    } else if ((type[0] & 0x20) == 0) {
      return "its chunk " + Printable(type) + " is not known";
    }
    return "";
  }

  std::string Header(const uint8_t* p, uint32_t n) {
    if (n != 13) return "its header has a wrong size";
    const uint32_t width = Big32(p), height = Big32(p + 4);
    if (width == 0 || height == 0) return "it has no pixels";
    if (width > kMaxSide || height > kMaxSide || uint64_t{width} * height > kMaxPixels) {
      return "it is too large: " + std::to_string(width) + " x " + std::to_string(height);
    }
    if (p[8] != 8) return "it has " + std::to_string(p[8]) + " bits a channel; 8 are supported";
    static constexpr uint8_t kChannels[] = {1, 0, 3, 1, 2, 0, 4};
    color_ = p[9];
    channels_ = p[9] < sizeof(kChannels) ? kChannels[p[9]] : 0;
    if (channels_ == 0) return "its color type " + std::to_string(color_) + " does not exist";
    if (p[10] != 0 || p[11] != 0) return "its compression or filter method is not known";
    if (p[12] != 0) return "it is interlaced; save it without interlacing";
    width_ = width;
    height_ = height;
    return "";
  }

  // Undoes the filter of each row, in place. A row begins with its filter's number.
  std::string Unfilter(size_t stride, std::vector<uint8_t>* rows) const {
    const std::vector<uint8_t> zeros(stride);
    const uint8_t* above = zeros.data();
    for (size_t y = 0; y < height_; ++y) {
      uint8_t* const row = rows->data() + y * (stride + 1);
      if (row[0] > 4) return "its filter " + std::to_string(row[0]) + " does not exist";
      UnfilterRow(row[0], row + 1, above, stride);
      above = row + 1;
    }
    return "";
  }

  void UnfilterRow(int filter, uint8_t* x, const uint8_t* above, size_t stride) const {
    for (size_t i = 0; i < stride; ++i) {
      const int left = i < channels_ ? 0 : x[i - channels_];
      const int corner = i < channels_ ? 0 : above[i - channels_];
      const int guess[] = {0, left, above[i], (left + above[i]) / 2, Paeth(left, above[i], corner)};
      x[i] = static_cast<uint8_t>(x[i] + guess[filter]);
    }
  }

  // Returns the neighbour that is nearest to left + above - corner.
  static int Paeth(int left, int above, int corner) {
    const int to_left = std::abs(above - corner), to_above = std::abs(left - corner);
    const int to_corner = std::abs(left + above - 2 * corner);
    if (to_left <= to_above && to_left <= to_corner) return left;
    return to_above <= to_corner ? above : corner;
  }

  std::string ToRgb(const std::vector<uint8_t>& rows, size_t stride, Image* image) const {
    image->width = static_cast<int>(width_);
    image->height = static_cast<int>(height_);
    image->rgb.clear();
    image->rgb.reserve(width_ * height_ * 3);
    for (size_t y = 0; y < height_; ++y) {
      const uint8_t* const row = rows.data() + y * (stride + 1) + 1;
      for (size_t x = 0; x < width_; ++x) {
        if (!Pixel(row + x * channels_, &image->rgb)) return "a pixel is not in its palette";
      }
    }
    return "";
  }

  bool Pixel(const uint8_t* p, std::vector<uint8_t>* out) const {
    uint8_t rgb[3] = {p[0], p[0], p[0]};
    int alpha = 255;
    switch (color_) {
      case 3:
        if (p[0] * size_t{3} >= palette_.size()) return false;
        std::memcpy(rgb, palette_.data() + p[0] * 3, 3);
        if (p[0] < transparent_.size()) alpha = transparent_[p[0]];
        break;
      case 2:
      case 6:
        std::memcpy(rgb, p, 3);
        break;
    }
    if (color_ == 4 || color_ == 6) alpha = p[channels_ - 1];
    if (IsTransparent(p)) alpha = 0;
    for (const uint8_t c : rgb) {
      out->push_back(static_cast<uint8_t>((c * alpha + 255 * (255 - alpha) + 127) / 255));
    }
    return true;
  }

  // Gray and RGB without alpha may define one transparent color, of 16 bits a channel.
  bool IsTransparent(const uint8_t* p) const {
    const bool may = color_ == 0 || color_ == 2;
    if (!may || transparent_.size() != channels_ * 2) return false;
    for (size_t i = 0; i < channels_; ++i) {
      if (transparent_[2 * i] != 0 || transparent_[2 * i + 1] != p[i]) return false;
    }
    return true;
  }

  size_t width_ = 0, height_ = 0, channels_ = 0;
  int color_ = 0;
  std::vector<uint8_t> palette_, transparent_, data_;
};

bool ReadFile(const std::string& path, std::vector<uint8_t>* bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  for (size_t got = 1; got > 0;) {
    const size_t at = bytes->size();
    bytes->resize(at + (size_t{1} << 16));
    got = std::fread(bytes->data() + at, 1, bytes->size() - at, file);
    bytes->resize(at + got);
  }
  const bool ok = std::ferror(file) == 0;
  std::fclose(file);
  return ok;
}

}  // namespace

std::string DecodePng(const std::vector<uint8_t>& file, Image* image) {
  return Png().Decode(file, image);
}

std::string ReadPng(const std::string& path, Image* image) {
  std::vector<uint8_t> file;
  if (!ReadFile(path, &file)) return path + ": the file cannot be read";
  const std::string error = DecodePng(file, image);
  return error.empty() ? "" : path + ": " + error;
}

}  // namespace app
