// A safetensors file whose values are written piece by piece, in any order.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/status.h"
#include "layout/layout.h"
#include "store/atomic_file.h"

namespace interlude {

/// Move only. Errors as WriteSafetensors; without Commit PATH stays as before and PATH.partial
/// goes.
class SafetensorsFile {
 public:
  /// Makes PATH.partial with its header; `metadata` as WriteSafetensors.
  static StatusOr<SafetensorsFile> Create(const std::string& path, const Layout& layout,
                                          const std::map<std::string, std::string>& metadata);
  /// The values of parameters [begin, begin + values.size()) of the flat sequence. Any thread;
  /// several may write at a time.
  Status Write(uint64_t begin, std::span<const float> values) const;
  /// Once all values are written: durable, and under its name.
  Status Commit() { return file_.Commit(); }

 private:
  SafetensorsFile(AtomicFile file, uint64_t data_begin)
      : file_(std::move(file)), data_begin_(data_begin) {}

  AtomicFile file_;
  uint64_t data_begin_;
};

}  // namespace interlude
