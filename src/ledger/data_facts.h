// What a data set's classes are called and how its pixels are normalised: what a worker's trainer
// knows, the coordinator compares, and run.db and saved models keep. Plain values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/clean_text.h"
#include "base/status.h"

namespace interlude {

/// A set with more classes, or a longer name, has no names here.
inline constexpr size_t kMostClassNames = 4096;
inline constexpr size_t kMostClassNameBytes = 256;
/// Of channels.
inline constexpr size_t kMostChannels = 16;

struct DataFacts {
  std::vector<std::string> classes;  // by label; empty: not known
  /// Of pixel / 255, by channel; empty: not known. As many of one as of the other.
  std::vector<float> mean;
  std::vector<float> deviation;

  bool empty() const { return classes.empty() && mean.empty(); }
  friend bool operator==(const DataFacts&, const DataFacts&) = default;
};

/// The names as they are compared, sent and kept: UTF-8 without control characters, none too long;
/// none at all of a set with too many.
inline std::vector<std::string> CleanClassNames(const std::vector<std::string>& names) {
  std::vector<std::string> clean;
  if (names.size() > kMostClassNames) return clean;
  for (const std::string& name : names) clean.push_back(CleanText(name, kMostClassNameBytes));
  return clean;
}

/// Where `theirs` contradicts `ours`, in words; empty where it does not. What one does not know is
/// no contradiction.
std::string DescribeDifference(const DataFacts& theirs, const DataFacts& ours);

/// A JSON array of the names; "" for none.
std::string ClassesText(const DataFacts& facts);
/// {"mean": [...], "deviation": [...]}; "" where they are not known.
std::string NormalizationText(const DataFacts& facts);
/// From the two texts, either of which may be empty. InvalidArgument for anything else.
StatusOr<DataFacts> ReadDataFacts(std::string_view classes, std::string_view normalization);

/// The name of class `label`, or its number where there is none.
std::string ClassName(const std::vector<std::string>& classes, size_t label);

}  // namespace interlude
