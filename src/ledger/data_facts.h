// What a data set's classes are called, how many pictures of each there are, and how pixels are
// normalised: what a worker's trainer knows, the coordinator compares, and run.db and saved models
// keep. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// How many pictures of each label a worker has; both empty: not known.
struct ClassCounts {
  std::vector<uint64_t> train;
  std::vector<uint64_t> test;

  bool empty() const { return train.empty(); }
  friend bool operator==(const ClassCounts&, const ClassCounts&) = default;
};

struct DataFacts {
  std::vector<std::string> classes;  // by label; empty: not known
  /// Of pixel / 255, by channel; empty: not known. As many of one as of the other.
  std::vector<float> mean;
  std::vector<float> deviation;
  /// Of the pictures that the worker draws from: all of its own, or where a data set is split the
  /// whole one, of which its share changes with each epoch.
  ClassCounts counts;

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

/// Where classes or normalisation of `theirs` contradict `ours`, in words; empty where they do not.
/// What one does not know is no contradiction.
std::string DescribeDifference(const DataFacts& theirs, const DataFacts& ours);

/// The counts as they are sent and kept: none of a set with more than kMostClassNames.
inline ClassCounts KeptClassCounts(ClassCounts counts) {
  if (counts.train.size() > kMostClassNames) return {};
  return counts;
}

/// Where workers that share one data set count its pictures differently, in words; empty where they
/// agree or one does not know.
std::string DescribeCountDifference(const DataFacts& theirs, const DataFacts& ours);

/// A JSON array of the names; "" for none.
std::string ClassesText(const DataFacts& facts);
/// {"mean": [...], "deviation": [...]}; "" where they are not known.
std::string NormalizationText(const DataFacts& facts);
/// From the two texts, either of which may be empty. InvalidArgument for anything else.
StatusOr<DataFacts> ReadDataFacts(std::string_view classes, std::string_view normalization);

/// The name of class `label`, or its number where there is none.
std::string ClassName(const std::vector<std::string>& classes, size_t label);

}  // namespace interlude
