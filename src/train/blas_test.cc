#include "train/blas.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <string>

namespace interlude {
namespace {

TEST(BlasTest, AnOldKernelOnANewCpuHasABetterOne) {
  EXPECT_EQ(BetterCoreType("Prescott", true, true), "SKYLAKEX");
  EXPECT_EQ(BetterCoreType("Prescott", true, false), "HASWELL");
  EXPECT_EQ(BetterCoreType("Sandybridge", true, false), "HASWELL");
}

TEST(BlasTest, AnOldKernelOnAnOldCpuStays) {
  EXPECT_EQ(BetterCoreType("Prescott", false, false), std::nullopt);
  EXPECT_EQ(BetterCoreType("Nehalem", false, false), std::nullopt);
}

TEST(BlasTest, AFastOrUnknownKernelStays) {
  for (const char* name :
       {"SkylakeX", "Haswell", "Zen", "Cooperlake", "SapphireRapids", "neoversen1", ""}) {
    EXPECT_EQ(BetterCoreType(name, true, true), std::nullopt) << name;
  }
}

// What blas_restart_probe prints, run with `environment` before it. Its OpenBLAS always says
// Prescott.
std::string RunProbe(const std::string& environment) {
  const std::string command = "env -u OPENBLAS_CORETYPE -u INTERLUDE_BLAS_CHOSEN " + environment +
                              " " + INTERLUDE_BLAS_RESTART_PROBE + " 'an argument' 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  pclose(pipe);
  return output;
}

TEST(BlasTest, AProgramWithABadKernelStartsAgainOnceWithABetterOne) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this CPU has no AVX2";
#else
  GTEST_SKIP() << "only x86-64 kernels have a better one";
#endif
  const std::string output = RunProbe("");
  const auto said = output.find("starting again with OPENBLAS_CORETYPE=");
  ASSERT_NE(said, std::string::npos) << output;
  EXPECT_EQ(output.find("starting again", said + 1), std::string::npos) << output;
  const bool better = output.ends_with("runs with SKYLAKEX and 'an argument'\n") ||
                      output.ends_with("runs with HASWELL and 'an argument'\n");
  EXPECT_TRUE(better) << output;
}

TEST(BlasTest, TheUsersOwnSettingStays) {
  EXPECT_EQ(RunProbe("OPENBLAS_CORETYPE=Nehalem"), "runs with Nehalem and 'an argument'\n");
}

TEST(BlasTest, AProgramStartedAgainWithoutEffectDoesNotLoop) {
  EXPECT_EQ(RunProbe("INTERLUDE_BLAS_CHOSEN=1"), "runs with nothing and 'an argument'\n");
}

}  // namespace
}  // namespace interlude
