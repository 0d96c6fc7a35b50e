// Every event in every situation of a small run, with the expected outcome; what is refused changes
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "protocol/run_machine_test_util.h"

namespace interlude {
namespace {

using Event = std::function<std::string(RunMachine&, Nanoseconds)>;

std::string Code(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kFailedPrecondition:
      return "pre";
    case StatusCode::kInvalidArgument:
      return "arg";
    case StatusCode::kOutOfRange:
      return "range";
    case StatusCode::kAlreadyExists:
      return "exists";
    case StatusCode::kResourceExhausted:
      return "full";
    case StatusCode::kUnavailable:
      return "unav";
    case StatusCode::kAborted:
      return "late";
    case StatusCode::kDataLoss:
      return "loss";
    default:
      return status.ToString();
  }
}

Event Join(std::optional<WorkerId> id) {
  return [=](RunMachine& m, Nanoseconds now) {
    const auto joined = m.Join(id, now);
    return joined.ok() ? fmt::format("id {}", *joined) : Code(joined.status());
  };
}
Event Ready(WorkerId w, uint32_t chunks = 2) {
  return [=](RunMachine& m, Nanoseconds now) { return Code(m.WorkerReady(w, chunks, now)); };
}
Event Base(WorkerId w) {
  return [=](RunMachine& m, Nanoseconds now) { return Code(m.BaseReceived(w, now)); };
}
Event CaughtUp(WorkerId w, uint32_t r) {
  return [=](RunMachine& m, Nanoseconds now) { return Code(m.CaughtUp(w, r, now)); };
}
Event Begin(WorkerId w, uint32_t r, uint64_t samples) {
  return [=](RunMachine& m, Nanoseconds now) { return Code(m.UploadBegun(w, r, samples, now)); };
}
Event Chunk(WorkerId w, uint32_t r, uint32_t c) {
  return [=](RunMachine& m, Nanoseconds now) {
    const auto fresh = m.ChunkReceived(w, r, c, now);
    return fresh.ok() ? std::string(*fresh ? "new" : "dup") : Code(fresh.status());
  };
}
Event Report(WorkerId w, uint32_t r, const Hash128& root) {
  return [=](RunMachine& m, Nanoseconds now) { return Code(m.RoundReported(w, r, root, now)); };
}
Event Eval(WorkerId w, uint32_t after) {
  return [=](RunMachine& m, Nanoseconds now) { return Code(m.EvaluationReported(w, after, now)); };
}
Event Left(WorkerId w) {
  return [=](RunMachine& m, Nanoseconds now) { return m.WorkerLeft(w, now), "-"; };
}
Event Lost(WorkerId w) {
  return [=](RunMachine& m, Nanoseconds now) { return m.WorkerLost(w, now), "-"; };
}
Event Returned(WorkerId w) {
  return [=](RunMachine& m, Nanoseconds now) { return Code(m.WorkerReturned(w, now)); };
}
Event Tick() {
  return [](RunMachine& m, Nanoseconds now) { return m.Tick(now), "-"; };
}
Event Stop() {
  return [](RunMachine& m, Nanoseconds now) { return m.Stop(CancelledError("Ctrl-C"), now), "-"; };
}

/// The straight way of two workers, two rounds and two chunks; a name marks the situation after the
/// step.
struct Step {
  Event event;
  std::string situation;
};
const std::vector<Step>& Way() {
  static const std::vector<Step> way = {
      {Join(0), ""},
      {Ready(0), "G0"},  // one of two is ready
      {Join(1), "G1"},   // the other makes its model
      {Ready(1), "AB"},  // the base is asked from worker 0
      {Base(0), "T1"},   // round 1 trains
      {Begin(0, 1, 10), ""},
      {Begin(1, 1, 11), ""},
      {Chunk(0, 1, 0), "U1"},  // round 1: one of four chunks is in
      {Chunk(1, 1, 0), ""},
      {Chunk(0, 1, 1), ""},
      {Chunk(1, 1, 1), "C1"},  // committed, round 2 started, no report
      {Report(0, 1, RootOf(1)), ""},
      {Report(1, 1, RootOf(1)), "R2"},  // round 2 alone
      {Eval(0, 1), ""},
      {Eval(1, 1), ""},
      {Begin(0, 2, 10), ""},
      {Begin(1, 2, 11), ""},
      {Chunk(0, 2, 0), ""},
      {Chunk(1, 2, 0), ""},
      {Chunk(0, 2, 1), ""},
      {Chunk(1, 2, 1), "F1"},  // finishing, no report of round 2
      {Report(0, 2, RootOf(2)), ""},
      {Report(1, 2, RootOf(2)), "F2"},  // finishing, no evaluation
      {Eval(0, 2), ""},
      {Eval(1, 2), "E"},  // ended
  };
  return way;
}

CarriedMachine NewRun() { return CarriedMachine({.workers = 2, .rounds = 2, .evaluate_every = 1}); }

/// Result, actions and the new stage where it changed, in one text.
std::string Outcome(CarriedMachine& run, const Event& event) {
  const RunMachine::Stage before = run.machine().stage();
  std::string text = event(run.machine(), run.Tick());
  for (const std::string& action : run.Carry()) text += "; " + action;
  if (run.machine().stage() != before)
    text += fmt::format(" => {}", StageName(run.machine().stage()));
  return text;
}

std::vector<std::string> Walk(CarriedMachine& run, size_t from, size_t to) {
  std::vector<std::string> outcomes;
  for (size_t i = from; i < to; ++i) outcomes.push_back(Outcome(run, Way()[i].event));
  return outcomes;
}

TEST(RunMachineTable, TheStraightWayGivesExactlyTheseActions) {
  CarriedMachine run = NewRun();
  const std::vector<std::string> outcomes = Walk(run, 0, Way().size());
  EXPECT_THAT(outcomes,
              testing::ElementsAre(
                  "id 0", "ok", "id 1", "ok; AskForBase 0 => awaiting the first base",
                  "ok; CatchUp 0; CatchUp 1; StartRound 1 members 0,1 => in its rounds", "ok", "ok",
                  "new", "new; MergeChunk 1/0 from 0:10,1:11; SendSyncChunk 1/0", "new",
                  "new; MergeChunk 1/1 from 0:10,1:11; SendSyncChunk 1/1; CommitRound 1; "
                  "StartRound 2 evaluate members 0,1",
                  "ok", "ok; EndRound 1", "ok", "ok", "ok", "ok", "new",
                  "new; MergeChunk 2/0 from 0:10,1:11; SendSyncChunk 2/0", "new",
                  "new; MergeChunk 2/1 from 0:10,1:11; SendSyncChunk 2/1; CommitRound 2; "
                  "Finish 0,1 => finishing",
                  "ok", "ok; EndRound 2", "ok", "ok; EndRun OK => ended"));
}

struct Row {
  std::string name;
  Event event;
  /// One outcome a situation, in the order of kSituations, between '|'.
  std::string outcomes;
};

const std::vector<std::string> kSituations = {"G0", "G1", "AB", "T1", "U1",
                                              "C1", "R2", "F1", "F2", "E"};

const std::vector<Row>& Table() {
  static const std::vector<Row> table = {
      //                                 G0  |G1  |AB  |T1  |U1  |C1  |R2  |F1  |F2  |E
      {"join", Join({}), "id 1|full|full|full|full|full|full|unav|unav|unav"},
      {"join as 0", Join(0), "exists|exists|exists|exists|exists|exists|exists|unav|unav|unav"},
      {"join as 5", Join(5), "range|range|range|range|range|range|range|unav|unav|unav"},
      {"ready 0", Ready(0), "pre|pre|pre|pre|pre|pre|pre|unav|unav|unav"},
      {"ready 1", Ready(1),
       "pre|ok; AskForBase 0 => awaiting the first base|pre|pre|pre|pre|pre|"
       "unav|unav|unav"},
      {"ready 1, 3 chunks", Ready(1, 3), "pre|arg|arg|arg|arg|arg|arg|unav|unav|unav"},
      {"ready 1, 0 chunks", Ready(1, 0), "pre|arg|arg|arg|arg|arg|arg|unav|unav|unav"},
      {"base 0", Base(0),
       "pre|pre|ok; CatchUp 0; CatchUp 1; StartRound 1 members 0,1 => in its rounds|"
       "pre|pre|pre|pre|pre|pre|unav"},
      {"base 1", Base(1), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"caught up 0 r0", CaughtUp(0, 0), "pre|pre|pre|ok|ok|ok|ok|ok|ok|unav"},
      {"caught up 0 r1", CaughtUp(0, 1), "pre|pre|pre|arg|arg|ok|ok|ok|ok|unav"},
      {"caught up 0 r3", CaughtUp(0, 3), "pre|pre|pre|arg|arg|arg|arg|arg|arg|unav"},
      {"begin 0 r1", Begin(0, 1, 10), "pre|pre|pre|ok|ok|ok|late|late|late|unav"},
      {"begin 0 r1 other", Begin(0, 1, 99), "pre|pre|pre|ok|arg|arg|late|late|late|unav"},
      {"begin 0 r1 none", Begin(0, 1, 0), "pre|pre|pre|arg|arg|arg|late|late|late|unav"},
      {"begin 0 r2", Begin(0, 2, 10), "pre|pre|pre|pre|pre|ok|ok|ok|late|unav"},
      {"begin 0 r3", Begin(0, 3, 10), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"chunk 0 r1 c0", Chunk(0, 1, 0), "pre|pre|pre|pre|dup|dup|late|late|late|unav"},
      {"chunk 0 r1 c1", Chunk(0, 1, 1), "pre|pre|pre|pre|new|dup|late|late|late|unav"},
      {"chunk 1 r1 c0", Chunk(1, 1, 0),
       "pre|pre|pre|pre|new; MergeChunk 1/0 from 0:10,1:11; SendSyncChunk "
       "1/0|dup|late|late|late|unav"},
      {"chunk 0 r1 c2", Chunk(0, 1, 2), "pre|pre|pre|pre|range|range|late|late|late|unav"},
      {"chunk 0 r2 c0", Chunk(0, 2, 0), "pre|pre|pre|pre|pre|pre|pre|dup|late|unav"},
      {"report 0 r1", Report(0, 1, RootOf(1)), "pre|pre|pre|pre|pre|ok|ok|ok|ok|unav"},
      {"report 0 r1 wrong", Report(0, 1, RootOf(10)), "pre|pre|pre|pre|pre|loss|loss|ok|ok|unav"},
      {"report 0 r2", Report(0, 2, RootOf(2)), "pre|pre|pre|pre|pre|pre|pre|ok|ok|unav"},
      {"evaluation 0 after 0", Eval(0, 0), "pre|pre|pre|pre|pre|pre|ok|ok|ok|unav"},
      {"evaluation 0 after 1", Eval(0, 1), "pre|pre|pre|pre|pre|ok|ok|exists|ok|unav"},
      {"evaluation 0 after 2", Eval(0, 2), "pre|pre|pre|pre|pre|pre|pre|ok|ok|unav"},
      {"ready 9", Ready(9), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"base 9", Base(9), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"caught up 9", CaughtUp(9, 0), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"begin 9", Begin(9, 1, 10), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"chunk 9", Chunk(9, 1, 0), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"report 9", Report(9, 1, RootOf(1)), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"evaluation 9", Eval(9, 2), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"left 0", Left(0), "-|-|- => gathering workers|-|-|-|-|-|-|-"},
      {"left 1", Left(1),
       "-|-|- => gathering workers|-|"
       "-; MergeChunk 1/0 from 0:10; SendSyncChunk 1/0|-|-|-|-|-"},
      {"lost 0", Lost(0), "-|-|- => gathering workers|-|-|-|-|-|-|-"},
      {"lost 9", Lost(9), "-|-|-|-|-|-|-|-|-|-"},
      {"returned 0", Returned(0), "pre|pre|pre|pre|pre|pre|pre|pre|pre|unav"},
      {"tick", Tick(), "-|-|-|-|-|-|-|-|-|-"},
      {"left 9", Left(9), "-|-|-|-|-|-|-|-|-|-"},
      {"stop", Stop(),
       "-; EndRun CANCELLED => ended|-; EndRun CANCELLED => ended|"
       "-; EndRun CANCELLED => ended|-; EndRun CANCELLED => ended|"
       "-; EndRun CANCELLED => ended|-; EndRun CANCELLED => ended|"
       "-; EndRun CANCELLED => ended|-; EndRun CANCELLED => ended|"
       "-; EndRun CANCELLED => ended|-"},
  };
  return table;
}

std::vector<std::string> Cells(const std::string& text) {
  std::vector<std::string> cells;
  std::stringstream stream(text);
  for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(cell);
  return cells;
}

size_t StepsTo(const std::string& situation) {
  for (size_t i = 0; i < Way().size(); ++i) {
    if (Way()[i].situation == situation) return i + 1;
  }
  ADD_FAILURE() << "no situation " << situation;
  return 0;
}

TEST(RunMachineTable, EveryEventInEverySituationHasTheExpectedOutcome) {
  for (const Row& row : Table()) {
    const std::vector<std::string> cells = Cells(row.outcomes);
    ASSERT_EQ(cells.size(), kSituations.size()) << row.name;
    for (size_t i = 0; i < cells.size(); ++i) {
      CarriedMachine run = NewRun();
      Walk(run, 0, StepsTo(kSituations[i]));
      EXPECT_EQ(Outcome(run, row.event), cells[i]) << row.name << " in " << kSituations[i];
    }
  }
}

TEST(RunMachineTable, WhatIsRefusedOrDoubledChangesNothing) {
  CarriedMachine straight = NewRun();
  const std::vector<std::string> expected = Walk(straight, 0, Way().size());
  for (const Row& row : Table()) {
    const std::vector<std::string> cells = Cells(row.outcomes);
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool harmless = cells[i] != "loss" && cells[i] != "ok" && cells[i] != "new" &&
                            cells[i].find_first_of("-; ") == std::string::npos;
      if (!harmless) continue;
      CarriedMachine run = NewRun();
      const size_t steps = StepsTo(kSituations[i]);
      Walk(run, 0, steps);
      Outcome(run, row.event);
      const std::vector<std::string> rest(expected.begin() + static_cast<ptrdiff_t>(steps),
                                          expected.end());
      EXPECT_EQ(Walk(run, steps, Way().size()), rest) << row.name << " in " << kSituations[i];
    }
  }
}

TEST(RunMachineTable, MergesAndCommitsThatComeAfterTheEndAreIgnored) {
  CarriedMachine run = NewRun();
  Walk(run, 0, StepsTo("U1"));
  ASSERT_TRUE(run.machine().ChunkReceived(1, 1, 0, run.Tick()).ok());
  run.machine().Stop(CancelledError("Ctrl-C"), run.Tick());
  run.machine().ChunkMerged(1, 0, run.Tick());
  run.machine().RoundCommitted(1, RootOf(1), run.Tick());
  EXPECT_THAT(run.Carry(),
              testing::ElementsAre("MergeChunk 1/0 from 0:10,1:11", "EndRun CANCELLED"));
  EXPECT_EQ(run.machine().committed_rounds(), 0u);
}

TEST(RunMachineTable, RefusalsNameTheOpenRounds) {
  CarriedMachine run = NewRun();
  Walk(run, 0, StepsTo("C1"));
  const Status status = run.machine().UploadBegun(0, 5, 10, run.Tick());
  EXPECT_THAT(status.message(), testing::HasSubstr("round 5, which is not open (open: 1, 2;"));
}

}  // namespace
}  // namespace interlude
