#include "train/first_parameters.h"

#include <filesystem>
#include <optional>
#include <vector>

#include "base/log.h"
#include "model/model_parameters.h"
#include "model/pretrained.h"

namespace interlude {
namespace {

// In place where the values are in host memory.
template <typename Fill>
Status FillTensor(FlatParameters& parameters, const ParameterSpec& spec, const Fill& fill) {
  if (!parameters.span().empty()) return fill(parameters.span().subspan(spec.offset, spec.count));
  std::vector<float> values(spec.count);
  INTERLUDE_RETURN_IF_ERROR(fill(std::span<float>(values)));
  const auto count = static_cast<int64_t>(spec.count);
  parameters.values()
      .narrow(0, static_cast<int64_t>(spec.offset), count)
      .copy_(at::from_blob(values.data(), {count}, at::kFloat));
  return OkStatus();
}

StatusOr<std::optional<PretrainedWeights>> OpenPretrained(
    const ModelConfig& config, const std::vector<ModelParameter>& tensors) {
  using Weights = std::optional<PretrainedWeights>;
  std::error_code error;
  if (config.pretrained.empty()) return Weights();
  if (!std::filesystem::exists(config.pretrained, error)) {
    LogWarning(
        "model.pretrained = {} is not on this machine: the first base has to come from another "
        "worker",
        config.pretrained);
    return Weights();
  }
  INTERLUDE_ASSIGN_OR_RETURN(PretrainedWeights weights, PretrainedWeights::Open(config, tensors));
  LogInfo("pretrained weights in {}", config.pretrained);
  for (const std::string& line : weights.Report()) LogInfo("  {}", line);
  return Weights(std::move(weights));
}

}  // namespace

StatusOr<FirstParameters> FillFirstParameters(const RunConfig& config, FlatParameters& parameters) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<ModelParameter> tensors,
                             ModelParameters(config.model));
  INTERLUDE_ASSIGN_OR_RETURN(const std::optional<PretrainedWeights> weights,
                             OpenPretrained(config.model, tensors));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto fill = [&](std::span<float> values) {
      if (weights && weights->Holds(i)) return weights->Read(i, values);
      InitializeTensor(tensors, i, config.seed, values);
      return OkStatus();
    };
    INTERLUDE_RETURN_IF_ERROR(FillTensor(parameters, parameters.layout().parameters()[i], fill));
  }
  const bool made = config.model.pretrained.empty() || weights.has_value();
  return made ? FirstParameters::kMade : FirstParameters::kToBeReplaced;
}

}  // namespace interlude
