// The reader of models on disk: any bytes, and the same with a header's length that fits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "store/safetensors.h"
#include "tests/fuzz/memory_file.h"

namespace interlude {
namespace {

void ReadFile(std::span<const std::byte> bytes) {
  static MemoryFile memory;
  const std::string path = memory.Holding(bytes);
  const auto header = ReadSafetensorsHeader(path);
  if (!header.ok()) return;
  uint64_t data_end = header->data_begin;
  for (const SafetensorsEntry& entry : header->entries) {
    INTERLUDE_CHECK(header->data_begin + entry.begin == data_end, "a hole before {}", entry.name);
    data_end = header->data_begin + entry.end;
    INTERLUDE_CHECK(data_end <= bytes.size(), "{} ends at {}", entry.name, data_end);
    std::vector<float> values((entry.end - entry.begin) / (entry.dtype == "F32" ? 4 : 2));
    const Status read = ReadSafetensorsFloats(path, *header, entry, 0, values);
    INTERLUDE_CHECK(read.ok() == IsSafetensorsFloat(entry.dtype), "{}", read.ToString());
  }
}

/// The header ends at the first '|', which stands in no header of ours.
void Mend(std::vector<std::byte>& file) {
  uint64_t header_bytes = 0;
  if (file.size() < sizeof(header_bytes)) return;
  const auto begin = file.begin() + sizeof(header_bytes);
  const auto end = std::find(begin, file.end(), std::byte{'|'});
  header_bytes = static_cast<uint64_t>(end - begin);
  if (end != file.end()) file.erase(end);
  std::memcpy(file.data(), &header_bytes, sizeof(header_bytes));
}

}  // namespace
}  // namespace interlude

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  interlude::ReadFile({bytes, size});
  std::vector<std::byte> file(bytes, bytes + size);
  interlude::Mend(file);
  interlude::ReadFile(file);
  return 0;
}
