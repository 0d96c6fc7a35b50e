#include "ledger/sample_store.h"

#include <algorithm>
#include <utility>

#include "ledger/sample_reading.h"

namespace interlude {
namespace {

constexpr int64_t kLeastChange = int64_t{64} << 10;

bool IsChange(int64_t before, int64_t now) {
  if (now == 0) return before != 0;
  return std::abs(now - before) > std::max(kLeastChange, before / 64);
}

}  // namespace

void SampleStore::Add(const ProcessSample& sample) {
  std::vector<ProcessSample>& samples = account_.samples;
  if (samples.size() == kMostSamples) {
    for (size_t i = 0; i < kMostSamples / 2; ++i)
      samples[i] = JoinSamples(samples[2 * i], samples[2 * i + 1]);
    samples.resize(kMostSamples / 2);
  }
  samples.push_back(sample);
}

void SampleStore::AddMemory(int32_t recorded_by, int64_t at_ns,
                            const std::map<std::string, int64_t>& owners) {
  for (const auto& [owner, bytes] : owners) AddOwner({recorded_by, at_ns, owner, bytes});
  for (const auto& [owner, bytes] : std::map(recorded_)) {
    if (!owners.contains(owner)) AddOwner({recorded_by, at_ns, owner, 0});
  }
}

void SampleStore::AddOwner(MemoryRecord record) {
  const auto known = recorded_.find(record.owner);
  if (!IsChange(known == recorded_.end() ? 0 : known->second, record.bytes)) return;
  if (account_.memory.size() == kMostMemoryRecords) return;
  recorded_[record.owner] = record.bytes;
  account_.memory.push_back(std::move(record));
}

Account SampleStore::Take() { return std::exchange(account_, {}); }

}  // namespace interlude
