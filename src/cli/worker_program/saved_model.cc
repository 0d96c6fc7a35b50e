#include "cli/worker_program/saved_model.h"

#include <algorithm>
#include <charconv>

#include "store/model_facts.h"

namespace interlude {

namespace {

std::string Fact(const SafetensorsHeader& header, const char* key) {
  const auto found = header.metadata.find(key);
  return found == header.metadata.end() ? "" : found->second;
}

StatusOr<std::vector<float>> ReadValues(const SavedModel& model, const Layout& layout) {
  std::vector<float> values(layout.total_params());
  for (const ParameterSpec& spec : layout.parameters()) {
    const auto entry = std::ranges::find(model.header.entries, spec.name, &SafetensorsEntry::name);
    if (entry == model.header.entries.end() || entry->shape != spec.shape) {
      return InvalidArgumentError(
          "{} has no tensor {} of shape [{}], which the model of its run has", model.path,
          spec.name, fmt::join(spec.shape, ", "));
    }
    INTERLUDE_RETURN_IF_ERROR(
        ReadSafetensorsFloats(model.path, model.header, *entry, /*first=*/0,
                              std::span(values).subspan(spec.offset, spec.count)));
  }
  return values;
}

}  // namespace

StatusOr<SavedModel> ReadSavedModel(const std::string& path) {
  SavedModel model{.path = path};
  INTERLUDE_ASSIGN_OR_RETURN(model.header, ReadSafetensorsHeader(path));
  const std::string config = Fact(model.header, kModelConfig);
  if (config.empty()) {
    return InvalidArgumentError(
        "{} does not tell which model it is ({} is missing): it was not saved by a run of "
        "interlude",
        path, kModelConfig);
  }
  INTERLUDE_ASSIGN_OR_RETURN(model.config, ParseRunConfig(config, path));
  auto data =
      ReadDataFacts(Fact(model.header, kModelClasses), Fact(model.header, kModelNormalization));
  if (!data.ok()) return data.status().WithContext(path);
  model.data = *std::move(data);
  const std::string rounds = Fact(model.header, kModelRounds);
  std::from_chars(rounds.data(), rounds.data() + rounds.size(), model.rounds);
  model.run_id = Fact(model.header, kModelRunId);
  return model;
}

Status LoadParameters(const SavedModel& model, const RunConfig& config, LocalTrainer& trainer) {
  const Layout& layout = trainer.layout();
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<float> values, ReadValues(model, layout));
  if (!trainer.parameters().empty()) {
    std::ranges::copy(values, trainer.parameters().begin());
    return OkStatus();
  }
  INTERLUDE_ASSIGN_OR_RETURN(const auto copy, trainer.MakeDeviceCopy(config.round));
  for (uint32_t chunk = 0; chunk < layout.num_chunks(); ++chunk) {
    const ChunkRange range = layout.chunk(chunk);
    INTERLUDE_RETURN_IF_ERROR(copy->ReplaceBase(
        chunk, std::as_bytes(std::span(values).subspan(range.begin, range.count))));
  }
  return OkStatus();
}

}  // namespace interlude
