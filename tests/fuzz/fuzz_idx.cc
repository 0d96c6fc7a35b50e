// The reader of images and labels, compressed or plain.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "images/idx_file.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static interlude::MemoryFile memory;
  const std::string path = memory.Holding(std::as_bytes(std::span(data, size)));
  for (const uint32_t dimensions : {1u, 3u}) {
    const auto file = interlude::ReadIdxFile(path, dimensions);
    if (!file.ok()) continue;
    uint64_t bytes = 1;
    for (const uint32_t dimension : file->dimensions) bytes *= dimension;
    INTERLUDE_CHECK(file->bytes.size() == bytes, "{} bytes for {}", file->bytes.size(), bytes);
  }
  return 0;
}
