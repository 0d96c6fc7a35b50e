#include "images/transform.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "images/color_ops.h"
#include "images/orientation.h"
#include "images/rand_augment.h"

namespace interlude {
namespace {

constexpr uint64_t kSalt = 0x70696374757265;  // apart from the order of the samples
constexpr double kPhotographEvalCrop = 0.875;

double Uniform(double low, double high, Rng& rng) {
  return low + (high - low) * (static_cast<double>(rng() >> 11) * 0x1p-53);
}

uint32_t Offset(uint32_t room, Rng& rng) {
  return static_cast<uint32_t>(rng.Below(uint64_t{room} + 1));
}

PictureBox LargestBox(const AugmentConfig& augment, uint32_t width, uint32_t height) {
  const double ratio = static_cast<double>(width) / height;
  PictureBox box{0, 0, width, height};
  if (ratio < augment.ratio_min) {
    box.height = static_cast<uint32_t>(std::lround(width / augment.ratio_min));
  } else if (ratio > augment.ratio_max) {
    box.width = static_cast<uint32_t>(std::lround(height * augment.ratio_max));
  }
  box.width = std::clamp(box.width, 1u, width);
  box.height = std::clamp(box.height, 1u, height);
  box.x = (width - box.width) / 2;
  box.y = (height - box.height) / 2;
  return box;
}

/// Without the ends that evaluation never sees: a picture of 1 x 100,000 pixels would become huge.
PictureBox NotTooLong(const PictureView& picture) {
  constexpr uint32_t kMostRatio = 4;
  PictureBox box = WholeBox(picture);
  const uint32_t most = std::min(picture.width, picture.height) * kMostRatio;
  box.width = std::min(box.width, most);
  box.height = std::min(box.height, most);
  box.x = (picture.width - box.width) / 2;
  box.y = (picture.height - box.height) / 2;
  return box;
}

}  // namespace

PictureBox RandomBox(const AugmentConfig& augment, uint32_t width, uint32_t height, Rng& rng) {
  const double area = static_cast<double>(width) * height;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double wanted = area * Uniform(augment.scale_min, augment.scale_max, rng);
    const double ratio =
        std::exp(Uniform(std::log(augment.ratio_min), std::log(augment.ratio_max), rng));
    const double w = std::round(std::sqrt(wanted * ratio));
    const double h = std::round(std::sqrt(wanted / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    PictureBox box{0, 0, static_cast<uint32_t>(w), static_cast<uint32_t>(h)};
    box.x = Offset(width - box.width, rng);
    box.y = Offset(height - box.height, rng);
    return box;
  }
  return LargestBox(augment, width, height);
}

TransformOptions MakeTransformOptions(const RunConfig& config, const DataSet& data) {
  return MakeTransformOptions(config, data.statistics, data.in_files());
}

TransformOptions MakeTransformOptions(const RunConfig& config, const PixelStatistics& data,
                                      bool in_files) {
  const AugmentConfig& augment = config.augment;
  TransformOptions options{.size = config.model.image_size,
                           .channels = config.model.channels,
                           .seed = config.seed,
                           .augment = augment,
                           .statistics = data,
                           .eval_crop = augment.eval_crop};
  if (augment.normalize == NormalizeKind::kImageNet) options.statistics = kImageNetStatistics;
  if (augment.normalize == NormalizeKind::kHalf) options.statistics = kHalfStatistics;
  if (options.eval_crop == 0) options.eval_crop = in_files ? kPhotographEvalCrop : 1;
  return options;
}

Transform::Transform(const TransformOptions& options) : options_(options) {
  INTERLUDE_CHECK(options.channels == 1 || options.channels == 3, "{} channels", options.channels);
  evaluation_side_ =
      std::max(options.size, static_cast<uint32_t>(std::lround(options.size / options.eval_crop)));
  for (size_t channel = 0; channel < tables_.size(); ++channel) {
    for (size_t value = 0; value < 256; ++value) {
      tables_[channel][value] =
          (static_cast<float>(value) / 255.0f - options.statistics.mean[channel]) /
          options.statistics.deviation[channel];
    }
  }
}

bool Transform::is_random() const {
  const AugmentConfig& a = options_.augment;
  return a.random_crop || a.flip > 0 || a.brightness > 0 || a.contrast > 0 || a.saturation > 0 ||
         a.randaugment_ops > 0;
}

uint32_t Transform::training_side(uint32_t wanted) const {
  if (wanted != 0) return wanted;
  if (!options_.augment.random_crop) return evaluation_side_;
  return static_cast<uint32_t>(std::ceil(options_.size / std::sqrt(options_.augment.scale_min)));
}

void Transform::Middle(const PictureView& picture, TransformScratch& scratch) const {
  PictureView scaled = picture;
  const uint32_t shorter = std::min(picture.width, picture.height);
  if (shorter != evaluation_side_) {
    const PictureBox seen = NotTooLong(picture);
    const auto length = [&](uint32_t side) {
      return static_cast<uint32_t>(uint64_t{side} * evaluation_side_ / shorter);
    };
    Resize(picture, seen, length(seen.width), length(seen.height), scratch.resize, scratch.other);
    scaled = scratch.other.view();
  }
  const PictureBox box{(scaled.width - options_.size) / 2, (scaled.height - options_.size) / 2,
                       options_.size, options_.size};
  Resize(scaled, box, options_.size, options_.size, scratch.resize, scratch.picture);
}

void Transform::ChangeColors(Rng& rng, TransformScratch& scratch) const {
  const AugmentConfig& augment = options_.augment;
  const auto factor = [&rng](double strength) {
    return static_cast<float>(Uniform(1 - strength, 1 + strength, rng));
  };
  if (augment.brightness > 0) ScaleBrightness(factor(augment.brightness), scratch.picture);
  if (augment.contrast > 0) ScaleContrast(factor(augment.contrast), scratch.picture);
  if (augment.saturation > 0) ScaleSaturation(factor(augment.saturation), scratch.picture);
  RandAugment(augment.randaugment_ops, augment.randaugment_magnitude, rng, scratch.other,
              scratch.picture);
}

void Transform::ForTraining(const PictureView& picture, uint64_t epoch, uint64_t sample,
                            TransformScratch& scratch, std::span<float> out) const {
  Rng rng(Mix64(options_.seed ^ Mix64(epoch ^ Mix64(sample ^ kSalt))));
  if (options_.augment.random_crop) {
    const PictureBox box = RandomBox(options_.augment, picture.width, picture.height, rng);
    Resize(picture, box, options_.size, options_.size, scratch.resize, scratch.picture);
  } else {
    Middle(picture, scratch);
  }
  const bool mirrored = Uniform(0, 1, rng) < options_.augment.flip;
  ChangeColors(rng, scratch);
  Write(scratch.picture, mirrored, out);
}

void Transform::ForEvaluation(const PictureView& picture, TransformScratch& scratch,
                              std::span<float> out) const {
  Middle(picture, scratch);
  Write(scratch.picture, false, out);
}

void Transform::Write(Picture& picture, bool mirrored, std::span<float> out) const {
  INTERLUDE_CHECK(out.size() == elements(), "{} floats for {}", out.size(), elements());
  SetChannels(options_.channels, picture);
  const uint32_t size = options_.size, channels = options_.channels;
  for (uint32_t channel = 0; channel < channels; ++channel) {
    const std::array<float, 256>& table = tables_[channel];
    float* to = out.data() + size_t{channel} * size * size;
    for (uint32_t y = 0; y < size; ++y, to += size) {
      const uint8_t* from = picture.row(y) + channel;
      if (mirrored) {
        for (uint32_t x = 0; x < size; ++x) to[size - 1 - x] = table[from[x * channels]];
      } else {
        for (uint32_t x = 0; x < size; ++x) to[x] = table[from[x * channels]];
      }
    }
  }
}

}  // namespace interlude
