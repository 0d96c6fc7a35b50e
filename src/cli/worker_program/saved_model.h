// A model that a run has saved, as a trainer that holds its parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"
#include "ledger/data_facts.h"
#include "store/safetensors.h"
#include "train/predictor.h"
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

/// Of a directory the model with the best accuracy, else the final one, is read; NotFound where it
/// has neither. Errors of ReadSafetensorsHeader; InvalidArgument where the file was not saved by a
/// run, tells something that is none of a run's, or is a synthetic model.
StatusOr<SavedModel> ReadSavedModel(const std::string& path);

/// Writes the file's values into the parameters, wherever they are. InvalidArgument naming a tensor
/// that the file lacks or has in another shape; the predictor also refuses what is no number.
Status LoadParameters(const SavedModel& model, const RunConfig& config, LocalTrainer& trainer);
Status LoadParameters(const SavedModel& model, Predictor& predictor);

}  // namespace interlude
