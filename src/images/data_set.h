// What a data set is: its classes, and a training and a test part, each a list of labelled pictures
// that are either files or bytes in memory. Opens no picture file. Immutable once loaded; any
// thread reads. docs/data.md describes the layouts on disk.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "images/picture.h"

namespace interlude {

/// The most classes that a data set may have, as model.classes.
inline constexpr uint32_t kMostClasses = 1'000'000;

/// Pictures of one size, one after the other.
struct PixelArray {
  uint32_t channels = 1;
  uint32_t height = 0;
  uint32_t width = 0;
  std::vector<uint8_t> bytes;

  size_t image_bytes() const { return size_t{channels} * height * width; }
  PictureView image(uint64_t index) const {
    return {width, height, channels, bytes.data() + index * image_bytes()};
  }
};

/// The training or the test part. Exactly one of `files` and `pixels` is filled.
struct DataPart {
  std::vector<uint32_t> labels;    // below the number of classes
  std::vector<std::string> files;  // a path for each label
  PixelArray pixels;

  uint64_t size() const { return labels.size(); }
};

/// Of pixel / 255, channel by channel; those of gray pictures are three times the same.
struct PixelStatistics {
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> deviation = {1, 1, 1};
};

inline constexpr PixelStatistics kImageNetStatistics = {{0.485f, 0.456f, 0.406f},
                                                        {0.229f, 0.224f, 0.225f}};
inline constexpr PixelStatistics kHalfStatistics = {{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}};

struct DataSet {
  std::vector<std::string> classes;  // the name of each label
  DataPart train;
  DataPart test;
  PixelStatistics statistics;

  /// Whether the pictures are files that must be decoded.
  bool in_files() const { return !train.files.empty(); }
};

/// How many pictures of each label.
std::vector<uint64_t> CountByClass(const DataPart& part, size_t classes);

/// Whether the pictures of a data set that data.name names are files, one for each; else a few
/// files hold all their pixels.
bool HasPictureFiles(std::string_view data_name);

/// Lists the data set that `config` names, and reads those whose pixels lie in a few files of their
/// own. The order of the samples follows from names and lists alone. Keeps the first train_limit
/// and test_limit samples; classes that then have no training picture are named in the log.
/// NotFound names what is missing and what to do, DataLoss the damaged file, InvalidArgument what
/// in a list (FILE:LINE) or a folder cannot be meant.
StatusOr<DataSet> LoadDataSet(const DataConfig& config);

}  // namespace interlude
