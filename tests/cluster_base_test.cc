// Whose parameters a run begins with, over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "worker/forwarding_trainer.h"

namespace interlude {
namespace {

/// The file that the first base is made of is not here: its parameters are to be replaced.
class WithoutTheFile final : public ForwardingTrainer {
 public:
  explicit WithoutTheFile(std::unique_ptr<LocalTrainer> inner)
      : ForwardingTrainer(std::move(inner)) {
    for (float& value : parameters()) value = 7;
  }
  bool MayProvideBase() const override { return false; }
};

TEST(ClusterBase, WorkersWithoutThePretrainedFileGetTheBaseOfOneThatHasIt) {
  ClusterOptions options;
  options.workers = 3;
  options.directory = FreshDirectory("without-the-file");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer,
                    WorkerId worker) -> std::unique_ptr<LocalTrainer> {
    if (worker == 2) return trainer;
    return std::make_unique<WithoutTheFile>(std::move(trainer));
  };
  ExpectSerialCopies(RunCluster(options), options);
}

TEST(ClusterBase, ARunInWhichNobodyHasThePretrainedFileEndsAndSaysSo) {
  ClusterOptions options;
  options.directory = FreshDirectory("nobody-has-the-file");
  options.hook = [](std::unique_ptr<LocalTrainer> trainer, WorkerId) {
    return std::make_unique<WithoutTheFile>(std::move(trainer));
  };
  const ClusterResult result = RunCluster(options);
  EXPECT_THAT(result.outcome.status().message(), testing::HasSubstr("model.pretrained"));
}

}  // namespace
}  // namespace interlude
