// Inflate, the decompression of zlib streams (RFC 1950 and 1951).
#ifndef RULES_DNN_APP_INFLATE_H_
#define RULES_DNN_APP_INFLATE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace app {

// Decompresses a zlib stream that must give exactly `size` bytes. Returns an empty string, or
// what is wrong with the stream.
std::string Inflate(const std::vector<uint8_t>& in, size_t size, std::vector<uint8_t>* out);

}  // namespace app

#endif  // RULES_DNN_APP_INFLATE_H_
