// From a picture's bytes to the floats that a model sees: the random changes of training, or the
// fixed part that evaluation sees, and normalisation. What is drawn follows from (seed, epoch,
// sample) alone. Immutable; any thread, one scratch each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "config/run_config.h"
#include "images/data_set.h"
#include "images/picture.h"
#include "images/resize.h"

namespace interlude {

struct TransformOptions {
  uint32_t size = 224;    // pixels a side of what comes out
  uint32_t channels = 3;  // 1 or 3
  uint64_t seed = 0;
  AugmentConfig augment;
  PixelStatistics statistics;
  double eval_crop = 1;  // share of the shorter side that evaluation sees
};

/// The options that a run's description asks for, where `data` and `in_files` are what its data set
/// has: the statistics, and whether the pictures are files.
TransformOptions MakeTransformOptions(const RunConfig& config, const PixelStatistics& data,
                                      bool in_files);
TransformOptions MakeTransformOptions(const RunConfig& config, const DataSet& data);

/// Memory that transforms reuse.
struct TransformScratch {
  ResizeScratch resize;
  Picture picture;
  Picture other;
};

class Transform {
 public:
  explicit Transform(const TransformOptions& options);

  /// Elements of one picture: channels * size * size.
  size_t elements() const { return size_t{options_.channels} * options_.size * options_.size; }
  /// What pixels are normalised with; of gray pictures the first channel's.
  const PixelStatistics& statistics() const { return options_.statistics; }
  /// Whether training pictures are changed at random at all.
  bool is_random() const;
  /// The shorter side that pictures should be decoded to: for evaluation; and for training, where 0
  /// is given, so that the smallest random crop still has as many pixels as come out.
  uint32_t evaluation_side() const { return evaluation_side_; }
  uint32_t training_side(uint32_t wanted) const;

  /// Writes channels x size x size floats, channel by channel. `picture` has any size and 1 or 3
  /// channels.
  void ForTraining(const PictureView& picture, uint64_t epoch, uint64_t sample,
                   TransformScratch& scratch, std::span<float> out) const;
  void ForEvaluation(const PictureView& picture, TransformScratch& scratch,
                     std::span<float> out) const;

 private:
  void Middle(const PictureView& picture, TransformScratch& scratch) const;
  void ChangeColors(Rng& rng, TransformScratch& scratch) const;
  void Write(Picture& picture, bool mirrored, std::span<float> out) const;

  TransformOptions options_;
  uint32_t evaluation_side_ = 0;
  std::array<std::array<float, 256>, 3> tables_;  // value to float, for each channel
};

/// A random part of a picture: its area and shape as `augment` says. After ten parts that do not
/// fit the largest one in the middle whose shape is allowed.
PictureBox RandomBox(const AugmentConfig& augment, uint32_t width, uint32_t height, Rng& rng);

}  // namespace interlude
