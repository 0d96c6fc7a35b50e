#include "analysis/round_records.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "analysis/nearly_sorted.h"

namespace interlude {
namespace {

/// Differences of times within these bounds stay within 64 bits.
constexpr int64_t kMostNs = int64_t{1} << 60;

bool CanBe(const ChunkStamp& stamp) {
  return stamp.begin_ns >= -kMostNs && stamp.end_ns <= kMostNs && stamp.begin_ns <= stamp.end_ns;
}

bool HasStamps(Phase phase) {
  switch (phase) {
    case Phase::kEncode:
    case Phase::kUpload:
    case Phase::kDownload:
    case Phase::kApply:
    case Phase::kReceive:
    case Phase::kMerge:
    case Phase::kSend:
      return true;
    default:
      return false;
  }
}

using Key = std::pair<Phase, int32_t>;

template <typename Record>
Key KeyOf(const Record& record) {
  return {record.phase, IsWorkerPhase(record.phase) ? record.recorded_by : record.about_worker};
}

/// The round's, by key; those of one key in their order.
template <typename Record>
std::pmr::vector<const Record*> OfRoundByKey(std::span<const Record> records,
                                             const RoundRecords& of) {
  std::pmr::vector<const Record*> sorted(of.memory);
  sorted.reserve(records.size());
  for (const Record& record : records) {
    if (record.round == of.round.round) sorted.push_back(&record);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Record* a, const Record* b) { return KeyOf(*a) < KeyOf(*b); });
  return sorted;
}

}  // namespace

PhaseTimes::PhaseTimes(const RoundRecords& records)
    : stamps_(records.memory), series_(records.memory) {
  AddStamps(records);
  AddSpans(records);
  for (const Series& series : series_) {
    SortNearlySorted(std::span(stamps_).subspan(series.begin, series.end - series.begin),
                     [](const ChunkStamp& a, const ChunkStamp& b) {
                       return std::tie(a.end_ns, a.begin_ns, a.chunk) <
                              std::tie(b.end_ns, b.begin_ns, b.chunk);
                     });
    if (series.key.second != kNoWorker) workers_.insert(series.key.second);
  }
}

void PhaseTimes::AddStamps(const RoundRecords& records) {
  const std::pmr::vector<const ChunkStamps*> of_round = OfRoundByKey(records.stamps, records);
  size_t most = records.spans.size();
  for (const ChunkStamps* stamps : of_round) most += stamps->stamps.size();
  stamps_.reserve(most);
  series_.reserve(of_round.size() + records.spans.size());
  for (const ChunkStamps* stamps : of_round) {
    const size_t begin = stamps_.size();
    std::copy_if(stamps->stamps.begin(), stamps->stamps.end(), std::back_inserter(stamps_),
                 [](const ChunkStamp& stamp) { return stamp.chunk != kNoChunk && CanBe(stamp); });
    if (stamps_.size() > begin) ExtendSeries(KeyOf(*stamps), begin);
  }
}

void PhaseTimes::AddSpans(const RoundRecords& records) {
  const auto stamped_end = static_cast<std::ptrdiff_t>(series_.size());
  const auto by_key = [](const Series& a, const Series& b) { return a.key < b.key; };
  for (const Span* span : OfRoundByKey(records.spans, records)) {
    const Series wanted{KeyOf(*span), 0, 0};
    if (std::binary_search(series_.begin(), series_.begin() + stamped_end, wanted, by_key))
      continue;
    const ChunkStamp whole{kNoChunk, span->begin_ns, span->end_ns};
    if (CanBe(whole)) {
      stamps_.push_back(whole);
      ExtendSeries(wanted.key, stamps_.size() - 1);
    }
    coarse_ = coarse_ || HasStamps(span->phase);
  }
  std::inplace_merge(series_.begin(), series_.begin() + stamped_end, series_.end(), by_key);
}

void PhaseTimes::ExtendSeries(const Key& key, size_t begin) {
  if (series_.empty() || series_.back().key != key) series_.push_back({key, begin, begin});
  series_.back().end = stamps_.size();
}

std::span<const ChunkStamp> PhaseTimes::Of(Phase phase, int32_t worker) const {
  const Key key{phase, worker};
  const auto found = std::lower_bound(series_.begin(), series_.end(), key,
                                      [](const Series& a, const Key& of) { return a.key < of; });
  if (found == series_.end() || found->key != key) return {};
  return std::span(stamps_).subspan(found->begin, found->end - found->begin);
}

void PhaseTimes::Shift(int32_t worker, int64_t shift_ns) {
  for (const Series& series : series_) {
    if (series.key.second != worker || !IsWorkerPhase(series.key.first)) continue;
    for (size_t i = series.begin; i < series.end; ++i) {
      stamps_[i].begin_ns += shift_ns;
      stamps_[i].end_ns += shift_ns;
    }
  }
}

}  // namespace interlude
