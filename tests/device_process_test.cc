// Parameters on a device through the real programs, on tensors of the CPU: the same code as on a
// GPU.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/exit_codes.h"
#include "config/run_config.h"
#include "tests/process.h"
#include "train/test_images.h"

namespace interlude {
namespace {

/// The hash that all agreed on after a run of two workers.
std::string RunOnTinyImages(const std::string& device, bool error_feedback) {
  const std::string scratch = testing::TempDir() + "/device-" + device + std::to_string(::getpid());
  std::filesystem::remove_all(scratch);
  std::filesystem::create_directories(scratch);
  RunConfig config = TinyImageRun(ModelKind::kVit);
  config.round.error_feedback = error_feedback;
  std::ofstream(scratch + "/run.toml") << FormatRunConfig(config);
  Process run({INTERLUDE_PROGRAM, "run", "--workers", "2", "--config", scratch + "/run.toml",
               "--dir", scratch + "/run", "--set", "train.device=" + device});
  EXPECT_EQ(run.AwaitExit(), kExitOk) << run.output();
  const std::string before = "agree on ";
  const size_t begin = run.output().find(before);
  std::filesystem::remove_all(scratch);
  return begin == std::string::npos ? "no hash in: " + run.output()
                                    : run.output().substr(begin + before.size(), 32);
}

TEST(DeviceProcess, ParametersOnADeviceBecomeTheSameModelAsInHostMemory) {
  for (const bool error_feedback : {false, true}) {
    EXPECT_EQ(RunOnTinyImages("cpu_tensors", error_feedback),
              RunOnTinyImages("cpu", error_feedback));
  }
}

}  // namespace
}  // namespace interlude
