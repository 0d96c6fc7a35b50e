#include "train/models.h"

#include "base/check.h"

namespace interlude {

std::unique_ptr<Model> CreateModel(const ModelConfig& config, FlatParameters& parameters) {
  switch (config.kind) {
    case ModelKind::kVit:
      return CreateVit(config, parameters);
    case ModelKind::kConvNet:
      return CreateConvNet(parameters);
    case ModelKind::kTorchScript:
    case ModelKind::kModule:
    case ModelKind::kSynthetic:
      break;
  }
  INTERLUDE_CHECK(false, "no model that is made here");
}

}  // namespace interlude
