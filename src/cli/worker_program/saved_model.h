// A model that a run has saved, as a trainer that holds its parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "ledger/data_facts.h"
#include "store/safetensors.h"
#include "worker/local_trainer.h"

namespace interlude {

/// What a model's file tells besides its values.
struct SavedModel {
  std::string path;
  SafetensorsHeader header;
  RunConfig config;
  DataFacts data;
  uint32_t rounds = 0;  // after which it stands
  std::string run_id;   // empty: not told
};

/// Errors of ReadSafetensorsHeader; InvalidArgument where the file was not saved by a run, or tells
/// something that is none of a run's.
StatusOr<SavedModel> ReadSavedModel(const std::string& path);

/// Writes the file's values into the trainer's parameters, wherever they are. InvalidArgument
/// naming a tensor that the file lacks or has in another shape.
Status LoadParameters(const SavedModel& model, const RunConfig& config, LocalTrainer& trainer);

}  // namespace interlude
