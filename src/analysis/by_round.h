// Records of many rounds in one piece of memory, to be asked for by their round. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace interlude {

/// Of anything that has a `round`. Those of a round stay in their order.
template <typename Record>
class ByRound {
 public:
  explicit ByRound(std::vector<Record> records) : records_(std::move(records)) {
    const auto earlier = [](const Record& a, const Record& b) { return a.round < b.round; };
    if (!std::is_sorted(records_.begin(), records_.end(), earlier))
      std::stable_sort(records_.begin(), records_.end(), earlier);
  }

  std::span<const Record> Of(uint32_t round) const {
    const auto begin =
        std::partition_point(records_.begin(), records_.end(),
                             [&](const Record& record) { return record.round < round; });
    const auto end = std::partition_point(
        begin, records_.end(), [&](const Record& record) { return record.round == round; });
    return {begin, end};
  }
  /// By round.
  std::span<const Record> all() const { return records_; }
  /// All, for another use of their memory.
  std::vector<Record> Take() && { return std::move(records_); }

 private:
  std::vector<Record> records_;
};

}  // namespace interlude
