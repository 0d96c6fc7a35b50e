#include "train/image_data.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/check.h"
#include "train/idx_file.h"

namespace interlude {

namespace {

constexpr uint32_t kClasses = 10;
// Of the 60,000 training images.
constexpr float kMean = 0.2860f;
constexpr float kDeviation = 0.3530f;

StatusOr<std::string> FindFile(const std::string& directory, const std::string& name) {
  for (const char* suffix : {".gz", ""}) {
    std::string path = fmt::format("{}/{}{}", directory, name, suffix);
    std::error_code ignored;  // an unreadable path counts as absent and is named below
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return NotFoundError(
      "Fashion-MNIST: no {}.gz in {} (data.directory); install it with: apt-get install "
      "dataset-fashion-mnist",
      name, directory);
}

void KeepFirst(ImageSet& set, uint64_t limit) {
  if (limit == 0 || limit >= set.size()) return;
  set.labels.resize(limit);
  set.pixels.resize(limit * set.image_pixels());
  set.labels.shrink_to_fit();
  set.pixels.shrink_to_fit();
}

StatusOr<ImageSet> LoadSet(const std::string& directory, const std::string& prefix,
                           uint64_t limit) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string image_path,
                             FindFile(directory, prefix + "-images-idx3-ubyte"));
  INTERLUDE_ASSIGN_OR_RETURN(const std::string label_path,
                             FindFile(directory, prefix + "-labels-idx1-ubyte"));
  INTERLUDE_ASSIGN_OR_RETURN(IdxFile images, ReadIdxFile(image_path, 3));
  INTERLUDE_ASSIGN_OR_RETURN(IdxFile labels, ReadIdxFile(label_path, 1));
  if (images.dimensions[0] != labels.dimensions[0]) {
    return DataLossError("{} holds {} images, {} holds {} labels; install the data set again",
                         image_path, images.dimensions[0], label_path, labels.dimensions[0]);
  }
  if (images.bytes.empty()) return DataLossError("{}: no images", image_path);
  const auto bad =
      std::ranges::find_if(labels.bytes, [](uint8_t label) { return label >= kClasses; });
  if (bad != labels.bytes.end()) {
    return DataLossError("{}: label {} at sample {}; labels go from 0 to {}", label_path, *bad,
                         bad - labels.bytes.begin(), kClasses - 1);
  }
  ImageSet set{.channels = 1,
               .height = images.dimensions[1],
               .width = images.dimensions[2],
               .pixels = std::move(images.bytes),
               .labels = std::move(labels.bytes)};
  KeepFirst(set, limit);
  return set;
}

}  // namespace

void ImageData::Normalize(std::span<const uint8_t> image, std::span<float> out) const {
  INTERLUDE_CHECK(image.size() == out.size(), "{} pixels into {} floats", image.size(), out.size());
  std::array<float, 256> table;
  for (size_t value = 0; value < table.size(); ++value) {
    table[value] = (static_cast<float>(value) / 255.0f - mean) / deviation;
  }
  std::ranges::transform(image, out.begin(), [&table](uint8_t value) { return table[value]; });
}

StatusOr<ImageData> LoadImageData(const DataConfig& config) {
  if (config.name != "fashion_mnist") {
    return InvalidArgumentError("data.name = \"{}\" is not known; known: \"fashion_mnist\"",
                                config.name);
  }
  ImageData data;
  data.classes = kClasses;
  data.mean = kMean;
  data.deviation = kDeviation;
  INTERLUDE_ASSIGN_OR_RETURN(data.train, LoadSet(config.directory, "train", config.train_limit));
  INTERLUDE_ASSIGN_OR_RETURN(data.test, LoadSet(config.directory, "t10k", config.test_limit));
  if (data.train.image_pixels() != data.test.image_pixels()) {
    return DataLossError("{}: training images are {} x {}, test images {} x {}", config.directory,
                         data.train.height, data.train.width, data.test.height, data.test.width);
  }
  return data;
}

}  // namespace interlude
