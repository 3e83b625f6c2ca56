// Pictures: reading PNG files and resizing.
#ifndef RULES_DNN_APP_IMAGE_H_
#define RULES_DNN_APP_IMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace app {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;  // three bytes a pixel, rows from top to bottom
};

// Decodes a PNG: 8 bits a channel (gray, RGB, palette, each with or without alpha), not interlaced.
// Transparent pixels become white. Returns an error, or an empty string.
std::string DecodePng(const std::vector<uint8_t>& file, Image* image);

// Reads and decodes a file; the error names the file.
std::string ReadPng(const std::string& path, Image* image);

// Scales an image to size x size; a pixel has three floats from 0 to 255, the averages of the area
// that it covers. The aspect ratio is not preserved.
std::vector<float> Resize(const Image& image, int size);

}  // namespace app

#endif  // RULES_DNN_APP_IMAGE_H_
