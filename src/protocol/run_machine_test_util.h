// Helpers of the run machine's tests: actions as text, and a machine whose merges and commits are
// carried out at once, as the coordinator's round thread does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/run_machine.h"

namespace interlude {

/// "StartRound 3 evaluate members 0,1", "MergeChunk 3/0 from 0:10,1:11", "EndRun OK", ...
std::string ActionText(const Action& action);

/// The root that the tests commit for a round.
Hash128 RootOf(uint32_t round);

/// A machine in virtual time, one nanosecond an event.
class CarriedMachine {
 public:
  explicit CarriedMachine(const RunPlan& plan) : plan_(plan) { machine_.emplace(plan); }

  RunMachine& machine() { return *machine_; }
  const RunMachine& machine() const { return *machine_; }

  /// The time of the next event.
  Nanoseconds Tick() { return Nanoseconds{++now_}; }
  Nanoseconds now() const { return Nanoseconds{now_}; }
  /// Nothing happens for a while.
  void Pass(Nanoseconds time) { now_ += time.count(); }

  /// The machine is lost with all that it has not handed out; another one takes its place.
  void Restore(const RestoredRun& run, Nanoseconds patience) {
    machine_.emplace(plan_);
    machine_->Restore(run, Tick(), patience);
  }

  /// Where the round ended whose EndRound was carried out last.
  Nanoseconds last_end() const { return last_end_; }

  /// Takes and carries out actions until there are none; returns their texts. `watch` sees each
  /// first; where it says false, neither this one nor any that follows is carried out.
  std::vector<std::string> Carry(const std::function<bool(const Action&)>& watch = {});

 private:
  const RunPlan plan_;
  std::optional<RunMachine> machine_;
  int64_t now_ = 0;
  Nanoseconds last_end_{0};
};

}  // namespace interlude
