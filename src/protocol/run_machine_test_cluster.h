// Workers that obey a run machine, and chaos among them: duplicates, nonsense, overtaking, wrong
// roots, leaving and coming back. Everything follows from the seed. Each event is held against the
// model.
#pragma once

#include <deque>
#include <map>
#include <optional>
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
  };
  Cluster(const Options& options, uint64_t seed);

  /// One worker does the next thing it has to do, or a missing worker joins. False when there is
  /// nothing to do.
  bool CalmStep();
  /// A CalmStep, or something that should not happen.
  void ChaoticStep();
  /// Calm steps until the run has ended; false when it does not within `most`.
  bool Drain(int most);

  void Leave(WorkerId worker);
  bool present(WorkerId worker) const { return workers_.contains(worker); }
  const RunMachine& machine() const { return run_.machine(); }
  const RunModel& model() const { return model_; }

  /// What happened, so that a test can show that it tried something.
  struct Counts {
    int refused = 0, duplicates = 0, left = 0, wrong_roots = 0, late_joins = 0, dropped = 0,
        overtaken = 0, asked_again = 0, rounds_passed = 0;
    int merged_without_all = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  enum class Kind : uint8_t {
    kReady,
    kCaughtUp,
    kBase,
    kBegin,
    kChunk,
    kReport,
    kEvaluation,
    kLeave
  };
  struct Message {
    Kind kind;
    uint32_t round = 0;
    uint32_t chunk = 0;
  };
  struct Worker {
    std::deque<Message> session, upload;
    std::optional<uint32_t> catches_up_from;  // the committed rounds when it was last asked
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
  void Settle();
  void Obey(const Action& action);
  bool Took(bool expected, const Status& status, const char* what, WorkerId worker, uint32_t round);

  const Options options_;
  Rng rng_;
  CarriedMachine run_;
  RunModel model_;
  std::map<WorkerId, Worker> workers_;
  Counts counts_;
};

}  // namespace interlude
