#include "images/image_pipeline.h"

#include <algorithm>

#include "base/free_memory.h"
#include "images/decode.h"

namespace interlude {
namespace {

constexpr uint64_t kMegabyte = 1'000'000;
/// Where the kernel doesn't say what is left.
constexpr uint64_t kUnknownMemory = 4000 * kMegabyte;

/// The loader would only find in the midst of training that there is no room.
Status CheckBatches(const RunConfig& config) {
  const uint64_t batches = uint64_t{config.data.prefetch} + 1;
  const double bytes = static_cast<double>(batches) * config.train.batch * config.model.channels *
                       config.model.image_size * config.model.image_size * sizeof(float);
  constexpr double kMost = 0x1p62;  // of what has no memory anywhere
  return CheckFreeMemory(
      fmt::format("{} batches (data.prefetch and one) of {} pictures", batches, config.train.batch),
      static_cast<uint64_t>(std::min(bytes, kMost)));
}

}  // namespace

StatusOr<std::unique_ptr<ImagePipeline>> ImagePipeline::Open(const RunConfig& config, int threads) {
  if (config.model.channels != 1 && config.model.channels != 3) {
    return InvalidArgumentError(
        "model.channels = {}; pictures are gray (1) or red, green and blue (3)",
        config.model.channels);
  }
  INTERLUDE_RETURN_IF_ERROR(CheckBatches(config));
  INTERLUDE_ASSIGN_OR_RETURN(DataSet data, LoadDataSet(config.data));
  return std::unique_ptr<ImagePipeline>(new ImagePipeline(config, std::move(data), threads));
}

ImagePipeline::ImagePipeline(const RunConfig& config, DataSet data, int threads)
    : config_(config.data),
      threads_(config.data.loader_threads == 0 ? threads
                                               : static_cast<int>(config.data.loader_threads)),
      memory_left_(MemoryLeft()),
      data_(std::move(data)),
      transform_(MakeTransformOptions(config, data_)),
      train_(data_.train,
             Decoder(config.model.channels, transform_.training_side(config.data.decode_side)),
             Cache(data_.train)),
      test_(data_.test, Decoder(config.model.channels, transform_.evaluation_side()),
            Cache(data_.test)),
      bad_train_(data_.train.size(), config_.bad_share),
      bad_test_(data_.test.size(), config_.bad_share),
      training_(std::make_unique<BatchLoader>(
          train_, transform_, bad_train_, Options(data_.in_files() || transform_.is_random()))) {}

DecodeFunction ImagePipeline::Decoder(uint32_t channels, uint32_t side) const {
  return MakeDecoder({.channels = channels,
                      .side = side,
                      .most_pixels = uint64_t{config_.max_megapixels} * kMegabyte});
}

/// The part's share, by its number of pictures. Without a word from the description, the caches of
/// all processes here, however many there are, leave half of what there was at the start.
CacheLimits ImagePipeline::Cache(const DataPart& part) const {
  if (!config_.cache || !data_.in_files()) return {};
  const uint64_t left = memory_left_.value_or(kUnknownMemory);
  const uint64_t all = config_.cache_mb == 0 ? left / 4 : config_.cache_mb * kMegabyte;
  const double share = static_cast<double>(part.size()) /
                       static_cast<double>(data_.train.size() + data_.test.size());
  CacheLimits limits{.bytes = static_cast<uint64_t>(static_cast<double>(all) * share)};
  if (config_.cache_mb == 0) {
    limits.may_grow = [least = left / 2](uint64_t bytes) {
      return MemoryLeft().value_or(kUnknownMemory) >= least + bytes;
    };
  }
  return limits;
}

/// Without need none are started: handing over a picture of 28 x 28 costs more than preparing it.
LoaderOptions ImagePipeline::Options(bool needs_threads) const {
  const bool wanted = needs_threads || config_.loader_threads != 0;
  return {.threads = wanted ? threads_ : 0, .prefetch = config_.prefetch};
}

std::unique_ptr<BatchLoader> ImagePipeline::MakeEvaluationLoader() {
  return std::make_unique<BatchLoader>(test_, transform_, bad_test_, Options(data_.in_files()));
}

}  // namespace interlude
