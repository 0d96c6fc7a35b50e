#include "cli/progress.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>

#include "cli/progress_printer.h"

namespace interlude {
namespace {

RunObserver::RoundLine SomeRound() {
  return {.round = 3,
          .rounds = 12,
          .mean_loss = 0.6124,
          .samples = 57'000,
          .workers = 2,
          .wall_seconds = 6.25,
          .train_seconds = 5.94,
          .exchange_seconds = 0.31};
}

TEST(ProgressTest, CountsHaveACommaEveryThreeDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(123'456), "123,456");
  EXPECT_EQ(FormatCount(18'446'744'073'709'551'615u), "18,446,744,073,709,551,615");
}

TEST(ProgressTest, SecondsKeepTheDigitsThatMatter) {
  EXPECT_EQ(FormatSeconds(0.00004), "0.04 ms");
  EXPECT_EQ(FormatSeconds(0.00283), "2.8 ms");
  EXPECT_EQ(FormatSeconds(0.0344), "34 ms");
  EXPECT_EQ(FormatSeconds(0.0996), "0.1 s");
  EXPECT_EQ(FormatSeconds(5.94), "5.9 s");
  EXPECT_EQ(FormatSeconds(107.6), "108 s");
  EXPECT_EQ(FormatSeconds(-1), "0 ms");
}

TEST(ProgressTest, ARoundIsOneLine) {
  EXPECT_EQ(FormatRoundLine(SomeRound()),
            "round  3/12  loss 0.612  9,120 samples/s  train 5.9 s  exchange 0.3 s  95 % training");
}

TEST(ProgressTest, EvaluationHasAPlaceOfItsOwn) {
  RunObserver::RoundLine line = SomeRound();
  line.wall_seconds = 8.25;
  line.evaluate_seconds = 2.0;
  EXPECT_EQ(FormatRoundLine(line),
            "round  3/12  loss 0.612  6,909 samples/s  train 5.9 s  exchange 0.3 s  evaluate 2.0 s "
            " 72 % training");
}

TEST(ProgressTest, TheExchangeIsWhatAWorkerMeasuredAlsoWhereTrainingTookTheWholeRound) {
  RunObserver::RoundLine line = SomeRound();
  line.wall_seconds = line.train_seconds;
  line.exchange_seconds = 0.0028;
  EXPECT_EQ(FormatRoundLine(line),
            "round  3/12  loss 0.612  9,596 samples/s  train 5.9 s  exchange 2.8 ms  100 % "
            "training");
}

TEST(ProgressTest, ARoundThatTookNoTimeStillPrintsAndClaimsNoExchange) {
  EXPECT_EQ(FormatRoundLine({.round = 1, .rounds = 1}),
            "round 1/1  loss 0.000  0 samples/s  train 0 ms  0 % training");
}

TEST(ProgressTest, TheBarShowsStepsThenMergedChunks) {
  RunObserver::Progress progress = {
      .round = 3, .rounds = 12, .steps_done = 5, .steps = 20, .chunks = 4};
  EXPECT_EQ(FormatLiveBar(progress, 200),
            "round  3/12  [##########..............................]  5/20 steps");
  progress.steps_done = 20;
  progress.chunks_merged = 2;
  EXPECT_EQ(FormatLiveBar(progress, 200),
            "round  3/12  [####################....................]  2/4 chunks merged");
}

TEST(ProgressTest, TheBarIsAlwaysShorterThanTheTerminal) {
  const RunObserver::Progress progress = {
      .round = 100, .rounds = 100, .steps_done = 19, .steps = 20, .chunks = 4};
  for (size_t columns = 0; columns < 120; ++columns) {
    const std::string bar = FormatLiveBar(progress, columns);
    EXPECT_TRUE(bar.empty() || bar.size() < columns) << columns << ": " << bar;
  }
  EXPECT_EQ(FormatLiveBar(progress, 30), "round 100/100  19/20 steps");
}

TEST(ProgressTest, TheInvitationNamesAnAddressThatWorks) {
  EXPECT_EQ(FormatInvitation("0.0.0.0:50051", 2, "box"),
            "coordinator on 0.0.0.0:50051, waiting for 2 workers; start each with: "
            "interlude worker --coordinator box:50051");
  EXPECT_EQ(FormatInvitation("127.0.0.1:7", 1, "box"),
            "coordinator on 127.0.0.1:7, waiting for 1 worker; start each with: "
            "interlude worker --coordinator 127.0.0.1:7 (on this machine only; --listen "
            "0.0.0.0:PORT lets others in)");
  EXPECT_EQ(FormatInvitation("0.0.0.0:7", 1, "box", " --keys DIR"),
            "coordinator on 0.0.0.0:7, waiting for 1 worker; start each with: "
            "interlude worker --coordinator box:7 --keys DIR");
}

TEST(ProgressTest, TheOutcomeOfSyntheticTrainingSaysThatItsFiguresAreMadeUp) {
  const std::string made_up = "synthetic training: loss and accuracy are made up\n";
  RunOutcome outcome = {.rounds = 1, .root_hash = "0123abcd", .accuracy = 0.8};
  EXPECT_EQ(FormatOutcome(outcome, "r").find(made_up), std::string::npos);
  outcome.synthetic = true;
  EXPECT_NE(FormatOutcome(outcome, "r").find(made_up), std::string::npos);
}

TEST(ProgressTest, TheOutcomeSaysWhoAgreesOnWhat) {
  RunOutcome outcome = {.rounds = 12,
                        .root_hash = "0123abcd",
                        .accuracy = 0.84312,
                        .test_samples = 10'000,
                        .model_path = "r/model.safetensors",
                        .workers_at_end = 3};
  EXPECT_EQ(FormatOutcome(outcome, "r"),
            "test accuracy 84.31 % of 10,000 samples after 12 rounds\n"
            "coordinator and all 3 workers agree on 0123abcd\n"
            "model: r/model.safetensors\n"
            "where the time went: interlude report r");
  outcome = {.rounds = 12, .root_hash = "0123abcd", .workers_at_end = 2, .workers_lost = 1};
  EXPECT_EQ(FormatOutcome(outcome, "r"),
            "coordinator and the remaining 2 workers (1 lost) agree on 0123abcd\n"
            "where the time went: interlude report r");
}

class ProgressPrinterTest : public testing::Test {
 protected:
  ProgressOutput Output(bool live, bool quiet = false) {
    ProgressOutput output;
    output.write = [this](std::string_view text) { text_ += text; };
    if (live) output.columns = [] { return size_t{28}; };
    output.quiet = quiet;
    return output;
  }
  static void Play(ProgressPrinter& printer) {
    printer.WorkerJoined(0, "box", 1, 2);
    printer.RunStarted(1'000, 1);
    printer.RoundProgressed({.round = 9, .rounds = 12, .steps_done = 12, .steps = 20, .chunks = 1});
    printer.RoundProgressed({.round = 9, .rounds = 12, .steps_done = 12, .steps = 20, .chunks = 1});
    printer.WorkerLeft(1, "connection lost");
    printer.Flush();  // a bar that comes while one waits is left out
    printer.RoundProgressed({.round = 9, .rounds = 12, .steps_done = 13, .steps = 20, .chunks = 1});
  }
  std::string text_;
  int started_ = 0;
};

TEST_F(ProgressPrinterTest, HasNoBarWhereThereIsNoTerminal) {
  {
    ProgressPrinter printer(Output(false), [&] { ++started_; });
    Play(printer);
  }
  EXPECT_EQ(text_,
            "worker 0 joined from box (1 of 2)\n"
            "training 1,000 parameters in 1 chunk\n"
            "worker 1 left: connection lost\n");
  EXPECT_EQ(started_, 1);
}

TEST_F(ProgressPrinterTest, TellsWhenALateWorkerCatchesUpAndWhenItHas) {
  {
    ProgressPrinter printer(Output(false), [] {});
    printer.CatchUpBegan(2, 7);
    printer.CaughtUp(2, 9);
  }
  EXPECT_EQ(text_,
            "worker 2 catches up with round 7; the others go on\n"
            "worker 2 has caught up with round 9\n");
}

TEST_F(ProgressPrinterTest, RedrawsTheBarInPlaceAndErasesItBeforeALine) {
  {
    ProgressPrinter printer(Output(true), [] {});
    Play(printer);
  }
  const std::string erase = "\r" + std::string(24, ' ') + "\r";
  EXPECT_EQ(text_,
            "worker 0 joined from box (1 of 2)\n"
            "training 1,000 parameters in 1 chunk\n"
            "\rround  9/12  12/20 steps" +
                erase +
                "worker 1 left: connection lost\n"
                "\rround  9/12  13/20 steps" +
                erase);
}

TEST_F(ProgressPrinterTest, ASmallerBarLeavesNothingOfTheLargerOne) {
  ProgressPrinter printer(Output(true), [] {});
  printer.RoundProgressed({.round = 1, .rounds = 1, .steps_done = 10, .steps = 20, .chunks = 1});
  printer.Flush();
  printer.RoundProgressed({.round = 1, .rounds = 1, .steps_done = 9, .steps = 20, .chunks = 1});
  printer.Flush();
  EXPECT_EQ(text_, "\rround 1/1  10/20 steps\rround 1/1  9/20 steps ");
}

TEST_F(ProgressPrinterTest, QuietPrintsOnlyWhatIsAskedFor) {
  ProgressPrinter printer(Output(true, true), [&] { ++started_; });
  Play(printer);
  printer.PrintLine("the end");
  printer.Flush();
  EXPECT_EQ(text_, "the end\n");
  EXPECT_EQ(started_, 1);
}

/// An output that takes nothing until it is told to.
class BlockedOutputTest : public ProgressPrinterTest {
 protected:
  ProgressOutput Blocked() {
    ProgressOutput output = Output(true);
    output.write = [this, write = output.write](std::string_view text) {
      if (text_.empty()) entered_.set_value();
      if (text_.empty()) unblocked_.get_future().wait();
      write(text);
    };
    return output;
  }
  std::promise<void> entered_;
  std::promise<void> unblocked_;
};

TEST_F(BlockedOutputTest, HoldsNobodyUpAndLosesNoLine) {
  std::string expected;
  {
    ProgressPrinter printer(Blocked(), [] {});
    for (WorkerId worker = 0; worker < 1000; ++worker) {
      printer.WorkerLeft(worker, "lost");
      printer.RoundProgressed({.round = 9, .rounds = 12, .steps = 20, .chunks = 1});
      expected += fmt::format("worker {} left: lost\n", worker);
    }
    unblocked_.set_value();
  }
  // One bar found room; it is erased.
  const std::string bar = "\rround  9/12  0/20 steps";
  const size_t at = text_.find(bar);
  ASSERT_NE(at, std::string::npos);
  const std::string erase = "\r" + std::string(bar.size() - 1, ' ') + "\r";
  EXPECT_EQ(text_.substr(at + bar.size(), erase.size()), erase);
  text_.erase(at, bar.size() + erase.size());
  EXPECT_EQ(text_, expected);
}

TEST_F(BlockedOutputTest, SaysHowManyLinesItLeftOut) {
  constexpr int kRoom = static_cast<int>(ProgressPrinter::kMostLinesWaiting);
  {
    ProgressPrinter printer(Blocked(), [] {});
    printer.WorkerLeft(0, "lost");
    entered_.get_future().wait();
    for (WorkerId worker = 1; worker <= kRoom + 2; ++worker) printer.WorkerLeft(worker, "lost");
    std::thread unblock([this] { unblocked_.set_value(); });
    printer.PrintLine("the end");
    unblock.join();
  }
  const std::string end = fmt::format(
      "worker {} left: lost\n(2 lines left out: the output took none)\nthe end\n", kRoom);
  EXPECT_TRUE(text_.ends_with(end)) << text_.substr(text_.size() - 200);
}

}  // namespace
}  // namespace interlude
