#include "cli/worker_program/saved_model.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "store/model_facts.h"

namespace interlude {

namespace {

std::string Fact(const SafetensorsHeader& header, const char* key) {
  const auto found = header.metadata.find(key);
  return found == header.metadata.end() ? "" : found->second;
}

/// The file with the values, of a run's directory or by its own path.
StatusOr<std::string> ModelFile(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  for (const char* name : {"model-best.safetensors", "model.safetensors"}) {
    const std::string file = (std::filesystem::path(path) / name).string();
    if (std::filesystem::exists(file, ignored)) return file;
  }
  return NotFoundError("{} has no model.safetensors: no run has been finished there", path);
}

/// Reads the values of one tensor of the run's model; `values` has its size.
Status ReadValues(const SavedModel& model, const ParameterSpec& spec, std::span<float> values) {
  const auto entry = std::ranges::find(model.header.entries, spec.name, &SafetensorsEntry::name);
  if (entry == model.header.entries.end() || entry->shape != spec.shape) {
    return InvalidArgumentError("{} has no tensor {} of shape [{}], which the model of its run has",
                                model.path, spec.name, fmt::join(spec.shape, ", "));
  }
  return ReadSafetensorsFloats(model.path, model.header, *entry, /*first=*/0, values);
}

}  // namespace

StatusOr<SavedModel> ReadSavedModel(const std::string& path) {
  SavedModel model;
  INTERLUDE_ASSIGN_OR_RETURN(model.path, ModelFile(path));
  INTERLUDE_ASSIGN_OR_RETURN(model.header, ReadSafetensorsHeader(model.path));
  const std::string config = Fact(model.header, kModelConfig);
  if (config.empty()) {
    return InvalidArgumentError(
        "{} does not tell which model it is ({} is missing): it was not saved by a run of "
        "interlude",
        model.path, kModelConfig);
  }
  INTERLUDE_ASSIGN_OR_RETURN(model.config, ParseRunConfig(config, model.path));
  if (model.config.model.kind == ModelKind::kSynthetic) {
    return InvalidArgumentError("{} is a synthetic model, which tells nothing apart", model.path);
  }
  auto data =
      ReadDataFacts(Fact(model.header, kModelClasses), Fact(model.header, kModelNormalization));
  if (!data.ok()) return data.status().WithContext(model.path);
  model.data = *std::move(data);
  const std::string rounds = Fact(model.header, kModelRounds);
  std::from_chars(rounds.data(), rounds.data() + rounds.size(), model.rounds);
  model.run_id = Fact(model.header, kModelRunId);
  return model;
}

Status LoadParameters(const SavedModel& model, const RunConfig& config, LocalTrainer& trainer) {
  const Layout& layout = trainer.layout();
  std::vector<float> device_values;  // of all chunks, for parameters that are on a device
  std::span<float> values = trainer.parameters();
  if (values.empty()) {
    device_values.resize(layout.total_params());
    values = device_values;
  }
  for (const ParameterSpec& spec : layout.parameters()) {
    INTERLUDE_RETURN_IF_ERROR(ReadValues(model, spec, values.subspan(spec.offset, spec.count)));
  }
  if (device_values.empty()) return OkStatus();
  INTERLUDE_ASSIGN_OR_RETURN(const auto copy, trainer.MakeDeviceCopy(config.round));
  for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk) {
    const ChunkRange range = layout.chunk(chunk);
    INTERLUDE_RETURN_IF_ERROR(
        copy->ReplaceBase(chunk, std::as_bytes(values.subspan(range.begin, range.count))));
  }
  return OkStatus();
}

Status LoadParameters(const SavedModel& model, Predictor& predictor) {
  std::vector<float> values;
  for (const ParameterSpec& spec : predictor.layout().parameters()) {
    values.resize(spec.count);
    INTERLUDE_RETURN_IF_ERROR(ReadValues(model, spec, values));
    const Status status = predictor.SetParameters(spec.offset, values);
    if (!status.ok()) return status.WithContext(model.path);
  }
  return OkStatus();
}

}  // namespace interlude
