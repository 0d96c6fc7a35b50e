// Labelled images in memory, as bytes, and the loader of Fashion-MNIST. Pixels become floats a
// batch at a time, which keeps a data set at a quarter of its size as floats. Immutable once
// loaded; any thread reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"

namespace interlude {

/// `size()` images, each channels * height * width bytes, row-major, one after the other.
struct ImageSet {
  uint32_t channels = 1;
  uint32_t height = 0;
  uint32_t width = 0;
  std::vector<uint8_t> pixels;
  std::vector<uint8_t> labels;

  uint64_t size() const { return labels.size(); }
  size_t image_pixels() const { return size_t{channels} * height * width; }
  std::span<const uint8_t> image(uint64_t index) const {
    return std::span(pixels).subspan(index * image_pixels(), image_pixels());
  }
};

/// A data set with its split and the statistics its pixels are normalised with.
struct ImageData {
  ImageSet train;
  ImageSet test;
  uint32_t classes = 0;
  float mean = 0;  // of pixel / 255 over the training set
  float deviation = 1;

  /// Writes (pixel / 255 - mean) / deviation for each pixel. `out` has as many elements.
  void Normalize(std::span<const uint8_t> image, std::span<float> out) const;
};

/// Reads config.directory's {train,t10k}-{images-idx3,labels-idx1}-ubyte, with or without .gz, and
/// keeps the first train_limit and test_limit samples. NotFound names the directory and the package
/// to install; DataLoss names the damaged file. InvalidArgument for a config.name other than
/// "fashion_mnist".
StatusOr<ImageData> LoadImageData(const DataConfig& config);

}  // namespace interlude
