#include "train/predictor.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "images/decode.h"
#include "images/file_batches.h"
#include "images/transform.h"
#include "train/device.h"
#include "train/gradient.h"
#include "train/loaded_images.h"
#include "train/models.h"
#include "train/non_finite.h"
#include "train/own_model.h"
#include "train/torch_setup.h"
#include "train/without_exceptions.h"

namespace interlude {

namespace {

constexpr uint64_t kMegapixel = 1'000'000;

Status CheckFit(const RunConfig& config, const DataFacts& data) {
  const ModelConfig& model = config.model;
  if (model.channels != 1 && model.channels != 3) {
    return InvalidArgumentError(
        "model.channels = {}; pictures are gray (1) or red, green and blue (3)", model.channels);
  }
  if (!data.classes.empty() && data.classes.size() != model.classes) {
    return InvalidArgumentError("model.classes = {}, but {} classes are named", model.classes,
                                data.classes.size());
  }
  if (!data.mean.empty() && data.mean.size() != model.channels) {
    return InvalidArgumentError("model.channels = {}, but pixels of {} channels are normalised",
                                model.channels, data.mean.size());
  }
  if (data.mean.empty() && config.augment.normalize == NormalizeKind::kData) {
    return InvalidArgumentError("it is not known how pixels are to be normalised");
  }
  return OkStatus();
}

// Without training pictures nobody can make them anew, as an evaluation does.
Status StatisticsError(const OpenedModel& model) {
  return FailedPreconditionError(
      "the model goes by running statistics ({}), which a saved model does not hold; predict with "
      "it in PyTorch (docs/own-model.md)",
      model.module->Buffers()[model.statistics.front()].name);
}

TransformOptions PictureOptions(const RunConfig& config, const DataFacts& data) {
  PixelStatistics statistics;
  std::ranges::copy(data.mean, statistics.mean.begin());
  std::ranges::copy(data.deviation, statistics.deviation.begin());
  return MakeTransformOptions(config, statistics, HasPictureFiles(config.data.name));
}

class TorchPredictor final : public Predictor {
 public:
  TorchPredictor(const RunConfig& config, const DataFacts& data, const TrainDevice& device,
                 Layout layout, OpenedModel model, int threads)
      : config_(config),
        device_(device),
        threads_(config.data.loader_threads == 0 ? threads
                                                 : static_cast<int>(config.data.loader_threads)),
        transform_(PictureOptions(config, data)),
        parameters_(std::move(layout), device),
        model_(BindModel(config.model, std::move(model), parameters_)) {}

  const Layout& layout() const override { return parameters_.layout(); }

  Status SetParameters(size_t first, std::span<const float> values) override {
    if (const std::optional<size_t> position = FindNonFinite(values)) {
      return DataLossError("parameter {} is {}: such a model tells nothing",
                           layout().DescribePosition(first + *position), values[*position]);
    }
    return WithoutExceptions([&] {
      const auto count = static_cast<int64_t>(values.size());
      parameters_.values()
          .narrow(0, static_cast<int64_t>(first), count)
          .copy_(at::from_blob(const_cast<float*>(values.data()), {count}, at::kFloat));
      return OkStatus();
    });
  }

  Status Predict(std::vector<std::string> files, const PredictOptions& options,
                 const std::function<Status(const FilePrediction&)>& take) override {
    return WithoutExceptions([&] { return PredictAll(std::move(files), options, take); });
  }

 private:
  Status PredictAll(std::vector<std::string> files, const PredictOptions& options,
                    const std::function<Status(const FilePrediction&)>& take) {
    const at::NoGradGuard no_gradient;
    const uint64_t size =
        options.batch == 0 ? EvaluationBatch(transform_.elements()) : options.batch;
    const DecodeOptions decoding{.channels = config_.model.channels,
                                 .side = transform_.evaluation_side(),
                                 .most_pixels = config_.data.max_megapixels * kMegapixel};
    FileBatches batches(std::move(files), MakeDecoder(decoding), transform_,
                        static_cast<uint32_t>(size),
                        {.threads = threads_, .prefetch = config_.data.prefetch});
    while (!batches.done()) {
      INTERLUDE_ASSIGN_OR_RETURN(FileBatch batch, batches.Next());
      const at::Tensor logits = Logits(std::move(batch.pictures));
      const auto classes = static_cast<size_t>(logits.size(1));
      for (size_t i = 0; i < batch.statuses.size(); ++i) {
        FilePrediction prediction{.file = batches.files()[batch.first + i],
                                  .status = batch.statuses[i]};
        if (prediction.status.ok()) {
          auto top = TopClasses({logits.data_ptr<float>() + i * classes, classes}, options.top);
          if (!top.ok()) return top.status().WithContext(prediction.file);
          prediction.top = *std::move(top);
        }
        INTERLUDE_RETURN_IF_ERROR(take(prediction));
      }
    }
    return OkStatus();
  }

  at::Tensor Logits(LoadedBatch pictures) const {
    const at::Tensor images =
        ImagesOf(std::move(pictures), config_.model.channels, config_.model.image_size);
    return ForwardAs(config_.train.autocast, *model_, images.to(device_.device)).cpu().contiguous();
  }

  const RunConfig config_;
  const TrainDevice device_;
  const int threads_;
  const Transform transform_;
  FlatParameters parameters_;
  std::unique_ptr<Model> model_;
};

}  // namespace

StatusOr<std::unique_ptr<Predictor>> CreateTorchPredictor(const RunConfig& config,
                                                          const DataFacts& data, int threads) {
  return WithoutExceptions([&]() -> StatusOr<std::unique_ptr<Predictor>> {
    INTERLUDE_ASSIGN_OR_RETURN(const TrainDevice device, FindTrainDevice(config.train.device));
    SetUpTorch(threads, device.device.is_cpu() && IsMadeHere(config.model.kind));
    INTERLUDE_ASSIGN_OR_RETURN(OpenedModel model, OpenModel(config, device));
    if (!model.statistics.empty()) return StatisticsError(model);
    INTERLUDE_ASSIGN_OR_RETURN(Layout layout, LayoutOf(model.tensors, config.round.chunk_params));
    INTERLUDE_RETURN_IF_ERROR(CheckFit(config, data));
    return std::unique_ptr<Predictor>(std::make_unique<TorchPredictor>(
        config, data, device, std::move(layout), std::move(model), threads));
  });
}

}  // namespace interlude
