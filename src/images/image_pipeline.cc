#include "images/image_pipeline.h"

#include "base/free_memory.h"
#include "images/decode.h"

namespace interlude {
namespace {

constexpr uint64_t kMegabyte = 1'000'000;
/// Where the kernel doesn't say what is available.
constexpr uint64_t kUnknownMemory = 4000 * kMegabyte;

}  // namespace

StatusOr<std::unique_ptr<ImagePipeline>> ImagePipeline::Open(const RunConfig& config, int threads) {
  if (config.model.channels != 1 && config.model.channels != 3) {
    return InvalidArgumentError(
        "model.channels = {}; pictures are gray (1) or red, green and blue (3)",
        config.model.channels);
  }
  INTERLUDE_ASSIGN_OR_RETURN(DataSet data, LoadDataSet(config.data));
  return std::unique_ptr<ImagePipeline>(new ImagePipeline(config, std::move(data), threads));
}

ImagePipeline::ImagePipeline(const RunConfig& config, DataSet data, int threads)
    : config_(config.data),
      threads_(config.data.loader_threads == 0 ? threads
                                               : static_cast<int>(config.data.loader_threads)),
      data_(std::move(data)),
      transform_(MakeTransformOptions(config, data_)),
      train_(data_.train,
             Decoder(config.model.channels, transform_.training_side(config.data.decode_side)),
             CacheBudget(data_.train)),
      test_(data_.test, Decoder(config.model.channels, transform_.evaluation_side()),
            CacheBudget(data_.test)),
      training_(std::make_unique<BatchLoader>(
          train_, transform_, Options(data_.in_files() || transform_.is_random()))) {}

DecodeFunction ImagePipeline::Decoder(uint32_t channels, uint32_t side) const {
  return MakeDecoder({.channels = channels,
                      .side = side,
                      .most_pixels = uint64_t{config_.max_megapixels} * kMegabyte});
}

/// The part's share, by its number of pictures.
uint64_t ImagePipeline::CacheBudget(const DataPart& part) const {
  if (!config_.cache || !data_.in_files()) return 0;
  const uint64_t available = AvailableMemoryBytes().value_or(kUnknownMemory);
  const uint64_t all = config_.cache_mb == 0 ? available / 4 : config_.cache_mb * kMegabyte;
  const double share = static_cast<double>(part.size()) /
                       static_cast<double>(data_.train.size() + data_.test.size());
  return static_cast<uint64_t>(static_cast<double>(all) * share);
}

/// Without need none are started: handing over a picture of 28 x 28 costs more than preparing it.
LoaderOptions ImagePipeline::Options(bool needs_threads) const {
  const bool wanted = needs_threads || config_.loader_threads != 0;
  return {.threads = wanted ? threads_ : 0,
          .prefetch = config_.prefetch,
          .bad_share = config_.bad_share};
}

std::unique_ptr<BatchLoader> ImagePipeline::MakeEvaluationLoader() const {
  return std::make_unique<BatchLoader>(test_, transform_, Options(data_.in_files()));
}

}  // namespace interlude
