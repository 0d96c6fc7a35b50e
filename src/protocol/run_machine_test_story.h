// Runs told in short words, for tests that write a turn of a run down step by step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/run_machine_test_util.h"

namespace interlude {

/// Short words for what workers do; each expects to be taken and returns the actions that follow.
class Story {
 public:
  using Texts = std::vector<std::string>;
  Story(const RunPlan& plan, uint32_t chunks) : run_(plan), chunks_(chunks) {}

  RunMachine& machine() { return run_.machine(); }
  Texts Join(WorkerId w) {
    const auto joined = machine().Join(w, run_.Tick());
    EXPECT_TRUE(joined.ok()) << joined.status().ToString();
    return run_.Carry();
  }
  Texts Ready(WorkerId w, bool may_provide_base = true) {
    return Take(machine().WorkerReady(w, chunks_, run_.Tick(), may_provide_base));
  }
  Texts CaughtUp(WorkerId w, uint32_t round) {
    return Take(machine().CaughtUp(w, round, run_.Tick()));
  }
  Texts Base(WorkerId w) { return Take(machine().BaseReceived(w, run_.Tick())); }
  Texts Left(WorkerId w) {
    machine().WorkerLeft(w, run_.Tick());
    return run_.Carry();
  }
  /// Begins and delivers the chunks [0, count).
  Texts Upload(WorkerId w, uint32_t round, uint32_t count) {
    Texts texts = Take(machine().UploadBegun(w, round, 10 + static_cast<uint64_t>(w), run_.Tick()));
    for (uint32_t i = 0; i < count; ++i) {
      const auto fresh = machine().ChunkReceived(w, round, i, run_.Tick());
      EXPECT_TRUE(fresh.ok()) << fresh.status().ToString();
      for (std::string& text : run_.Carry()) texts.push_back(std::move(text));
    }
    return texts;
  }
  Texts Report(WorkerId w, uint32_t round) {
    return Take(machine().RoundReported(w, round, RootOf(round), run_.Tick()));
  }
  Texts Evaluate(WorkerId w, uint32_t after) {
    return Take(machine().EvaluationReported(w, after, run_.Tick()));
  }

  /// All ids join, are ready, and the base comes: round 1 is started.
  void Begin(uint32_t workers) {
    for (uint32_t w = 0; w < workers; ++w) {
      Join(static_cast<WorkerId>(w));
      Ready(static_cast<WorkerId>(w));
    }
    Base(0);
    EXPECT_EQ(machine().stage(), RunMachine::Stage::kRounds);
  }
  Texts Take(const Status& status) {
    EXPECT_TRUE(status.ok()) << status.ToString();
    return run_.Carry();
  }
  Texts Lost(WorkerId w) {
    machine().WorkerLost(w, run_.Tick());
    return run_.Carry();
  }
  Texts Returned(WorkerId w) { return Take(machine().WorkerReturned(w, run_.Tick())); }
  /// Time passes and nothing else happens.
  Texts Pass(Nanoseconds time) {
    run_.Pass(time);
    machine().Tick(run_.now());
    return run_.Carry();
  }
  /// Time passes until Tick has something to do, which it must have at some time.
  Texts PassToDeadline() {
    const auto ahead = Ahead();
    EXPECT_TRUE(ahead) << "nobody is waited for";
    return Pass(std::max(Nanoseconds(0), ahead.value_or(Nanoseconds(0))));
  }
  /// The same, for what is said of those who are late.
  std::vector<Action> TakeAtDeadline() {
    const auto ahead = Ahead();
    EXPECT_TRUE(ahead) << "nobody is waited for";
    run_.Pass(std::max(Nanoseconds(0), ahead.value_or(Nanoseconds(0))));
    machine().Tick(run_.now());
    return machine().TakeActions();
  }
  /// The coordinator is killed and started again.
  Texts Restore(const RestoredRun& run, Nanoseconds patience) {
    run_.Restore(run, patience);
    return run_.Carry();
  }
  /// Until Tick has something to do; nothing where it never has.
  std::optional<Nanoseconds> Ahead() {
    const auto deadline = machine().NextDeadline();
    if (!deadline) return std::nullopt;
    return *deadline - run_.now();
  }
  Nanoseconds now() const { return run_.now(); }
  Nanoseconds Tick() { return run_.Tick(); }
  Nanoseconds last_end() const { return run_.last_end(); }

 private:
  CarriedMachine run_;
  const uint32_t chunks_;
};

}  // namespace interlude
