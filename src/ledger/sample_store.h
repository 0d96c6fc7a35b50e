// The samples and memory records of a process until they are taken: a bounded number, however long
// that is. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ledger/account.h"

namespace interlude {

/// Most samples kept: at a sample a second, those of a minute come as they were taken. Beyond, they
/// are joined two by two, so that they still cover all the time.
inline constexpr size_t kMostSamples = 64;
/// Most memory records kept; beyond, changes wait for the next Take.
inline constexpr size_t kMostMemoryRecords = 128;

class SampleStore {
 public:
  void Add(const ProcessSample& sample);

  /// A record of each owner whose bytes have changed since its last record: by more than a 64th of
  /// what they were and by more than 64 KiB, or to nothing. So what is on record is never further
  /// from the truth, and says nothing for as long as nothing happens.
  void AddMemory(int32_t recorded_by, int64_t at_ns, const std::map<std::string, int64_t>& owners);

  /// All so far; empty afterwards. What the owners' last records were is kept.
  Account Take();

 private:
  void AddOwner(MemoryRecord record);

  Account account_;
  std::map<std::string, int64_t> recorded_;
};

}  // namespace interlude
