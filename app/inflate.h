// Inflate, the decompression of zlib streams (RFC 1950 and 1951).
#ifndef RULES_DNN_APP_INFLATE_H_
#define RULES_DNN_APP_INFLATE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace app {

// Decompresses a zlib stream that must contain exactly `size` bytes. Returns the stream's error, or
// an empty string.
std::string Inflate(const std::vector<uint8_t>& in, size_t size, std::vector<uint8_t>* out);

}  // namespace app

#endif  // RULES_DNN_APP_INFLATE_H_
