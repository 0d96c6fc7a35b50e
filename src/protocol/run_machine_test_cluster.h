// Workers that obey a run machine, and chaos among them: duplicates, nonsense, overtaking, wrong
// roots, leaving and coming back, broken connections, hung workers, and a coordinator that is
// killed and started again. Everything follows from the seed. Each event is held against the model.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "protocol/run_machine_test_model.h"
#include "protocol/run_machine_test_util.h"

namespace interlude {

class Cluster {
 public:
  struct Options {
    RunPlan plan;
    uint32_t chunks = 1;
    /// Uploads may overtake reports, as they travel on other streams.
    bool overtaking = false;
    /// Workers say only what they are to say, but their connections break, they hang and leave.
    /// Then none of them may ever be refused for a reason but that it came too late.
    bool honest = false;
    /// The coordinator is killed now and then.
    bool crashes = false;
    /// How long the members are awaited that a restarted coordinator finds.
    Nanoseconds return_patience = std::chrono::seconds(15);
  };
  Cluster(const Options& options, uint64_t seed);

  /// One worker does the next thing it has to do, or a missing worker joins. False when there is
  /// nothing to do.
  bool CalmStep();
  /// A CalmStep, or something that should not happen.
  void ChaoticStep();
  /// Calm steps until the run has ended, and where there are none, time passes or a worker joins;
  /// false when it does not end within `most`.
  bool Drain(int most);

  void Leave(WorkerId worker);
  /// Its connection breaks; where it does not come back, it is never heard of again.
  void Lose(WorkerId worker, bool comes_back);
  /// It does nothing until it wakes up.
  void Hang(WorkerId worker) { workers_[worker].hung = true; }
  void WakeUp(WorkerId worker) { workers_[worker].hung = false; }
  void Pass(Nanoseconds time);
  /// The coordinator is killed when it has carried out so many more actions and has another one to
  /// carry out, and is started again with what its journal holds. False where there is nothing yet
  /// to restore.
  bool Crash(int actions);
  bool present(WorkerId worker) const { return workers_.contains(worker); }
  const RunMachine& machine() const { return run_.machine(); }
  const RunModel& model() const { return model_; }

  /// For a failure's message: who is where.
  std::string Text() const;

  /// What happened, so that a test can show that it tried something.
  struct Counts {
    int refused = 0, duplicates = 0, left = 0, wrong_roots = 0, late_joins = 0, dropped = 0,
        overtaken = 0, asked_again = 0, rounds_passed = 0;
    int merged_without_all = 0;
    int merged_of_none = 0, lost = 0, returned = 0, late = 0, waited = 0, crashed = 0, replaced = 0;
  };
  const Counts& counts() const { return counts_; }
  /// Of each round and chunk, from whom it was merged.
  using Merges = std::map<std::pair<uint32_t, uint32_t>, std::vector<Contributor>>;
  const Merges& merges() const { return merges_; }

 private:
  enum class Kind : uint8_t { kReady, kCaughtUp, kBase, kBegin, kChunk, kReport, kEvaluation };
  struct Message {
    Kind kind;
    uint32_t round = 0;
    uint32_t chunk = 0;
  };
  struct Worker {
    std::deque<Message> session, upload;
    std::optional<uint32_t> catches_up_from;  // the committed rounds when it was last asked
    bool away = false, comes_back = true, hung = false;
    uint32_t round = 0;         // the newest that it was told to begin
    bool out_of_round = false;  // it was late
  };
  /// What the coordinator has written down of a round.
  struct Journal {
    std::map<WorkerId, RestoredRound::Member> members;
    std::vector<MergeOrder> orders;
  };

  void Send(WorkerId worker, const Message& message);
  void Join(std::optional<WorkerId> requested);
  void Ready(WorkerId worker);
  void CaughtUp(WorkerId worker, uint32_t round);
  void Base(WorkerId worker);
  void Begin(WorkerId worker, uint32_t round, uint64_t samples);
  void Chunk(WorkerId worker, uint32_t round, uint32_t chunk);
  void Report(WorkerId worker, uint32_t round, const Hash128& root);
  void Evaluate(WorkerId worker, uint32_t after);
  void Nonsense();
  void Return(WorkerId worker);
  void Trouble();
  void Settle();
  bool CarryOut();
  bool crashed() const { return crash_after_ && *crash_after_ < 0; }
  void Watch(const Action& action);
  void Obey(const Action& action);
  void StartAgain();
  std::vector<Message> Delta(uint32_t round);
  bool Took(bool expected, const Status& status, const char* what, WorkerId worker, uint32_t round);

  const Options options_;
  Rng rng_;
  CarriedMachine run_;
  RunModel model_;
  std::map<WorkerId, Worker> workers_;
  std::map<uint32_t, Journal> journal_;
  uint32_t committed_ = 0;
  int rejoining_ = 0;               // lost their stay with the coordinator
  std::optional<int> crash_after_;  // actions
  Merges merges_;
  Counts counts_;
};

}  // namespace interlude
