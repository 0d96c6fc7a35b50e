#include "doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/fake_root.h"
#include "doctor/find_check.h"

namespace interlude {
namespace {

DoctorOptions Options(const FakeRoot& root) {
  return {.directory = root.path(),
          .ask_blas = [] { return StatusOr<std::string>("blas=other"); },
          .environment = [](const std::string&) { return std::optional<std::string>(); },
          .root = root.path()};
}

TEST(Doctor, OnAMachineThatSaysNothingMostIsUnknownAndNothingIsWrong) {
  FakeRoot root;
  root.File("/proc/meminfo", "MemAvailable: 1000 kB\n");  // too little to measure with
  const Checks checks = Examine(Options(root));
  std::set<std::string> names;
  for (const Check& check : checks) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name << " twice";
    EXPECT_NE(check.figure, "") << check.name;
    EXPECT_NE(check.grade, CheckGrade::kBad) << check.name << ": " << check.figure;
  }
  EXPECT_GE(names.size(), 15u);
  EXPECT_EQ(Find(checks, "codec and memory").grade, CheckGrade::kUnknown);
}

TEST(Doctor, ACoordinatorThatIsNotThereIsBadAndTheRestIsSaid) {
  FakeRoot root;
  root.File("/proc/meminfo", "MemAvailable: 1000 kB\n");
  DoctorOptions options = Options(root);
  options.coordinator = WorkerOptions{.coordinator = "127.0.0.1:1",
                                      .connect_timeout = std::chrono::milliseconds(200)};
  options.ask_blas = [] { return StatusOr<std::string>(NotFoundError("no interlude-worker")); };
  const Checks checks = Examine(options);
  EXPECT_EQ(Find(checks, "link").grade, CheckGrade::kBad);
  EXPECT_EQ(Find(checks, "blas").figure, "no interlude-worker");
  EXPECT_EQ(Find(checks, "disk speed").grade, CheckGrade::kOk);
  EXPECT_TRUE(AnyBad(checks));
}

}  // namespace
}  // namespace interlude
