#include "report/tensorboard_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analysis/analyze_run.h"
#include "report/published_schema.h"
#include "report/tensorboard_subset.pb.h"
#include "report/trace_test_run.h"

namespace interlude {
namespace {

/// Without the mask.
uint32_t Unmasked(uint32_t masked) {
  const uint32_t rotated = masked - 0xA282EAD8u;
  return (rotated >> 17) | (rotated << 15);
}

TEST(MaskedCrc32c, HasTheChecksumsOfRfc3720) {
  EXPECT_EQ(Unmasked(MaskedCrc32c("123456789")), 0xE3069283u);
  EXPECT_EQ(Unmasked(MaskedCrc32c(std::string(32, '\0'))), 0x8A9136AAu);
  EXPECT_EQ(Unmasked(MaskedCrc32c(std::string(32, '\xFF'))), 0x62A8AB43u);
  EXPECT_EQ(Unmasked(MaskedCrc32c("")), 0u);
}

/// The records of an event file; the test fails where a length or a checksum is wrong.
std::vector<std::string> RecordsOf(std::string_view file) {
  const auto number = [&](size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = bytes; i > 0; --i) value = value << 8 | static_cast<uint8_t>(file[at + i - 1]);
    return value;
  };
  std::vector<std::string> records;
  while (!file.empty()) {
    EXPECT_GE(file.size(), 16u);
    const size_t length = number(0, 8);
    EXPECT_GE(file.size(), 16 + length);
    EXPECT_EQ(number(8, 4), MaskedCrc32c(file.substr(0, 8)));
    records.emplace_back(file.substr(12, length));
    EXPECT_EQ(number(12 + length, 4), MaskedCrc32c(records.back()));
    file.remove_prefix(16 + length);
  }
  return records;
}

TEST(TensorBoardEvents, AreReadByThePublishedSchemaWithNothingLeftOver) {
  PublishedSchema published("tensorboard");
  ExpectSameFields(*tensorboard::Event::descriptor(), published.Message("tensorboard.Event"));
  const auto database = MakeTraceTestRun();
  const auto records =
      RecordsOf(FormatTensorBoardEvents(*AnalyzeRun(*database), *database->Rounds()));
  ASSERT_EQ(records.size(), 1 + kTraceRounds + 1);
  for (const std::string& record : records) {
    const auto read = published.New("tensorboard.Event");
    ASSERT_TRUE(read->ParseFromString(record));
    EXPECT_EQ(UnknownFields(*read), 0u);
  }
}

TEST(TensorBoardEvents, HoldAStepARoundAndOneAnEvaluation) {
  const auto database = MakeTraceTestRun();
  const auto records =
      RecordsOf(FormatTensorBoardEvents(*AnalyzeRun(*database), *database->Rounds()));
  std::vector<tensorboard::Event> events(records.size());
  for (size_t i = 0; i < records.size(); ++i) ASSERT_TRUE(events[i].ParseFromString(records[i]));
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_DOUBLE_EQ(events[0].wall_time(), 1738324800);
  for (uint32_t round = 1; round <= kTraceRounds; ++round) {
    const tensorboard::Event& event = events[round];
    EXPECT_EQ(event.step(), round);
    // The worker joined 100 ms before the first round.
    EXPECT_NEAR(event.wall_time(), 1738324800.1 + 3.0 * round, 1e-6);
    std::map<std::string, float> scalars;
    for (const auto& value : event.summary().value()) scalars[value.tag()] = value.simple_value();
    EXPECT_FLOAT_EQ(scalars["loss/training"], 1.0f / static_cast<float>(round));
    EXPECT_FLOAT_EQ(scalars["round_seconds/wall"], 3);
    EXPECT_FLOAT_EQ(scalars["phase_seconds/train"], 2);
    EXPECT_FLOAT_EQ(scalars["phase_seconds/encode"], 0.049f);
  }
  const auto& evaluation = events[1 + kTraceRounds];
  EXPECT_EQ(evaluation.step(), 2);
  EXPECT_EQ(evaluation.summary().value(0).tag(), "accuracy");
  EXPECT_FLOAT_EQ(evaluation.summary().value(0).simple_value(), 0.75);
}

TEST(TensorBoardEvents, AreNamedAfterTheRunsStartAndTheHost) {
  const auto database = MakeTraceTestRun();
  EXPECT_EQ(TensorBoardFileName(*AnalyzeRun(*database), "box"),
            "events.out.tfevents.1738324800.box");
}

}  // namespace
}  // namespace interlude
