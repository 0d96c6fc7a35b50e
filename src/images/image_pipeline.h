// All of a run's pictures, ready to train on: data set, decoding, cache, transform and loaders as
// the description asks for them.
#pragma once

#include <memory>
#include <optional>

#include "base/status.h"
#include "config/run_config.h"
#include "images/batch_loader.h"
#include "images/data_set.h"
#include "images/pictures.h"
#include "images/transform.h"

namespace interlude {

/// One thread at a time.
class ImagePipeline {
 public:
  /// Lists or reads the data set (LoadDataSet's errors). InvalidArgument where model.channels is
  /// neither 1 nor 3, ResourceExhausted where there is no memory for the batches. `threads`: those
  /// that prepare batches where the description leaves it open.
  static StatusOr<std::unique_ptr<ImagePipeline>> Open(const RunConfig& config, int threads);
  ImagePipeline(const ImagePipeline&) = delete;
  ImagePipeline& operator=(const ImagePipeline&) = delete;

  const DataSet& data() const { return data_; }
  const Transform& transform() const { return transform_; }
  const DataConfig& config() const { return config_; }

  /// The loader of training batches, with data.prefetch.
  BatchLoader& training() { return *training_; }
  /// A loader of test pictures; it goes before this. What is bad among them is counted and named
  /// once for all such loaders.
  std::unique_ptr<BatchLoader> MakeEvaluationLoader();

 private:
  ImagePipeline(const RunConfig& config, DataSet data, int threads);
  DecodeFunction Decoder(uint32_t channels, uint32_t side) const;
  CacheLimits Cache(const DataPart& part) const;
  LoaderOptions Options(bool needs_threads) const;

  const DataConfig config_;
  const int threads_;
  const std::optional<uint64_t> memory_left_;  // at the start
  const DataSet data_;
  const Transform transform_;
  const Pictures train_;
  const Pictures test_;
  BadPictures bad_train_;
  BadPictures bad_test_;
  std::unique_ptr<BatchLoader> training_;
};

}  // namespace interlude
