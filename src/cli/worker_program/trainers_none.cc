#include "cli/exit_codes.h"
#include "cli/worker_program/ranks.h"
#include "cli/worker_program/trainers.h"

namespace interlude {

void PrepareProcess(char**) {}

std::string BlasLine() { return "blas=none"; }

StatusOr<std::unique_ptr<LocalTrainer>> CreateModelTrainer(const RunConfig&, WorkerId, uint32_t,
                                                           int) {
  return UnimplementedError(
      "this interlude-worker was built without LibTorch and trains only model.kind = "
      "\"synthetic\"; build with "
      "-DINTERLUDE_TRAIN=ON");
}

StatusOr<std::unique_ptr<LocalTrainer>> CreateRankedTrainer(const RunConfig&, WorkerId, uint32_t,
                                                            int, const RankOptions&) {
  return UnimplementedError(
      "--devices needs LibTorch, which this interlude-worker was built without; build with "
      "-DINTERLUDE_TRAIN=ON");
}

int RunRank(int, char**) { return kExitUsage; }

StatusOr<std::unique_ptr<Predictor>> CreateModelPredictor(const RunConfig&, const DataFacts&, int) {
  return UnimplementedError(
      "this interlude-worker was built without LibTorch; build with -DINTERLUDE_TRAIN=ON");
}

}  // namespace interlude
