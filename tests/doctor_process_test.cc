// `interlude doctor` as a person or a script runs it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "tests/process.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Arguments = std::vector<std::string>;

class DoctorProcessTest : public testing::Test {
 protected:
  DoctorProcessTest() {
    std::string pattern = testing::TempDir() + "/doctor-process-XXXXXX";
    scratch_ = mkdtemp(pattern.data());
    fs::create_directories(In("dir"));
  }
  ~DoctorProcessTest() override { fs::remove_all(scratch_); }

  std::string In(const std::string& name) const { return scratch_ + "/" + name; }
  Arguments Doctor(const Arguments& more) const {
    Arguments arguments = {INTERLUDE_PROGRAM, "doctor", "--dir", In("dir")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// The checks by name, of a run whose exit status fits its worst grade.
  nlohmann::json Checks(const Arguments& more) const {
    Arguments arguments = Doctor(more);
    arguments.push_back("--json");
    Process doctor(arguments);
    const int exit = doctor.AwaitExit();
    const size_t begin = doctor.output().find("{\n");  // warnings may stand before it
    const auto json = nlohmann::json::parse(doctor.output().substr(begin));
    EXPECT_EQ(exit, json["worst"] == "bad" ? kExitFailed : kExitOk) << doctor.output();
    nlohmann::json checks;
    for (const auto& check : json["checks"]) checks[check["name"].get<std::string>()] = check;
    return checks;
  }

  std::string scratch_;
};

TEST_F(DoctorProcessTest, LooksAtEverythingAndLeavesNothingBehind) {
  const nlohmann::json checks = Checks({"--params", "1M"});
  for (const char* name : {"cores", "threads", "throttling", "cpu", "blas", "memory",
                           "codec and memory", "huge pages", "disk space", "disk speed", "kernel",
                           "clock source", "pressure", "open files", "tcp buffers", "congestion"}) {
    EXPECT_TRUE(checks.contains(name)) << name;
  }
  EXPECT_GT(checks["codec and memory"]["values"]["encode_seconds"], 0);
  EXPECT_EQ(checks["disk space"]["grade"], "ok");
  EXPECT_TRUE(fs::is_empty(In("dir")));
}

TEST_F(DoctorProcessTest, AModelThatDoesNotFitIsBadAndTheExitStatusSaysSo) {
  EXPECT_EQ(Checks({"--params", "90G"})["memory"]["grade"], "bad");
}

TEST_F(DoctorProcessTest, TheTextStaysWithinEightyColumns) {
  Process doctor(Doctor({"--params", "632M"}));
  doctor.AwaitExit();
  std::istringstream lines(doctor.output());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(doctor.output(), HasSubstr("cores"));
}

TEST_F(DoctorProcessTest, MeasuresTheWayToACoordinatorThatWaitsForItsWorkers) {
  std::ofstream(In("run.toml")) << "[model]\nkind = \"synthetic\"\nsynthetic_params = 1000\n";
  Process coordinator({INTERLUDE_PROGRAM, "coordinator", "--workers", "1", "--config",
                       In("run.toml"), "--dir", In("run"), "--listen", "127.0.0.1:0"});
  const std::string before = "coordinator on ";
  ASSERT_TRUE(coordinator.AwaitOutput(", waiting for"));
  const size_t begin = coordinator.output().find(before) + before.size();
  const std::string address =
      coordinator.output().substr(begin, coordinator.output().find(',', begin) - begin);
  const nlohmann::json checks =
      Checks({"--coordinator", address, "--params", "1M", "--train-seconds", "1000000"});
  EXPECT_GT(checks["round trip"]["values"]["median_seconds"], 0);
  EXPECT_GT(checks["link rate"]["values"]["upload_bytes_per_s"], 0);
  EXPECT_GT(checks["link rate"]["values"]["download_bytes_per_s"], 0);
  EXPECT_EQ(checks["exchange"]["grade"], "ok");
}

TEST_F(DoctorProcessTest, AWrongCommandLineIsToldApartFromABadMachine) {
  for (const Arguments& wrong :
       {Arguments{"--coordinator", "nowhere"}, Arguments{"--coordinator", "10.0.0.5:7070"},
        Arguments{"--params", "many"}, Arguments{"--workers", "0"}}) {
    Process doctor(Doctor(wrong));
    EXPECT_EQ(doctor.AwaitExit(), kExitUsage) << doctor.output();
  }
}

}  // namespace
}  // namespace interlude
