// A second, slow and plain account of a run, written from the contract alone: says of each event
// whether it must be taken, and of each action whether it may come, and what must have come when
// all is quiet. For tests; reports through GoogleTest's EXPECT.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "protocol/run_machine.h"

namespace interlude {

class RunModel {
 public:
  RunModel(const RunPlan& plan, uint32_t chunks) : plan_(plan), chunks_(chunks) {}

  // Whether the event must be taken now.
  bool MayJoin(std::optional<WorkerId> requested) const;
  bool MayBeReady(WorkerId w) const;
  bool MaySendBase(WorkerId w) const;
  bool MayHaveCaughtUp(WorkerId w, uint32_t round) const;
  bool MayBegin(WorkerId w, uint32_t round, uint64_t samples) const;
  bool MayDeliver(WorkerId w, uint32_t round, uint32_t chunk) const;
  bool IsNew(WorkerId w, uint32_t round, uint32_t chunk) const;
  bool MayReport(WorkerId w, uint32_t round, const Hash128& root) const;
  bool MayEvaluate(WorkerId w, uint32_t after) const;

  // The event was taken (or, for Left and WrongRoot, happened).
  void Joined(WorkerId w) { joined_.insert(w); }
  void Ready(WorkerId w);
  void CaughtUp(WorkerId w, uint32_t round);
  void BaseSent() { base_received_ = true; }
  void Begun(WorkerId w, uint32_t round, uint64_t samples) {
    rounds_.at(round).samples[w] = samples;
  }
  void Delivered(WorkerId w, uint32_t round, uint32_t chunk) {
    rounds_.at(round).delivered[chunk].insert(w);
  }
  void Reported(WorkerId w, uint32_t round) { rounds_.at(round).reported.insert(w); }
  void WrongRoot(WorkerId w, uint32_t round);
  void Evaluated(WorkerId w, uint32_t after);
  void Left(WorkerId w);
  void Lost(WorkerId w, Nanoseconds now);
  /// The finish is given up where nobody is there to score, until somebody is.
  void GiveUpFinish();
  void Returned(WorkerId w, Nanoseconds now);
  void Stopped() { stopped_ = true; }
  /// The coordinator was killed; this is what was found of its run.
  void Restored(const RestoredRun& run, Nanoseconds now, Nanoseconds patience);

  /// Checks an action against the contract and counts it.
  void Act(const Action& action, const RunMachine& machine, Nanoseconds now);
  /// Everything that must have happened by now has.
  void CheckQuiet() const;
  /// The same, right after a Tick.
  void CheckOnTime(Nanoseconds now) const;

  bool finishing() const { return finishing_; }
  bool IsAway(WorkerId w) const { return away_.contains(w); }
  const std::optional<Status>& end() const { return end_; }
  bool InMembers(WorkerId w) const { return members_.contains(w); }

 private:
  struct Round {
    std::set<WorkerId> members;   // for whom it was started
    std::set<WorkerId> accepted;  // of them: what they deliver counts
    std::set<WorkerId> present;   // of those: are awaited
    Nanoseconds started{0}, committed_at{0};
    bool restored = false;
    bool evaluate = false;
    std::map<WorkerId, uint64_t> samples;
    std::map<uint32_t, std::set<WorkerId>> delivered;
    std::set<uint32_t> ordered, sent;
    bool committed = false;
    bool ended = false;
    std::set<WorkerId> reported, evaluated;
    Nanoseconds end{0};
  };

  void On(const AskForBase& action);
  void On(const CatchUp& action);
  void On(const StartRound& action);
  void On(const MergeChunk& action);
  void On(const SendSyncChunk& action);
  void On(const CommitRound& action);
  void On(const EndRound& action);
  void On(const Finish& action);
  void On(const DropWorker& action);
  void On(const MemberLate& action);
  void On(const AwaitWorkers& action);
  void On(const EndRun& action);
  void CheckHold(const std::vector<WorkerId>& members);
  void CheckTimes(uint32_t round, const RoundExchange& exchange);

  const Round* Open(uint32_t round) const;
  bool InRun(WorkerId w) const;
  size_t Delivered(const Round& round, uint32_t chunk) const;
  size_t DoneBefore(const Round& round, WorkerId w, uint32_t chunk) const;
  bool OthersWait() const { return !ready_.empty() || !caught_up_.empty(); }
  bool NobodyIsHere() const { return members_.size() == away_.size() && !OthersWait(); }
  bool WaitsForSomebody() const;
  bool AllAway(const Round& round) const;
  bool Complete(const Round& round, WorkerId w) const;
  bool Mergeable(const Round& round, uint32_t chunk) const;
  bool AllReported(const Round& round) const;
  bool Hopeless(const Round& round) const;
  uint32_t OldestOpen() const;
  uint32_t Committed() const;
  bool MayStartNext() const;

  const RunPlan plan_;
  const uint32_t chunks_;
  std::set<WorkerId> joined_, ready_, caught_up_, members_;  // disjoint
  std::set<WorkerId> to_be_asked_;  // of ready_: are to be asked to catch up
  std::optional<WorkerId> asked_;
  bool base_received_ = false;
  std::map<uint32_t, Round> rounds_;  // all that were ever started
  std::set<WorkerId> finish_awaited_, finish_evaluated_;
  std::map<WorkerId, Nanoseconds> away_;  // of members_: until when each is awaited
  std::set<WorkerId> to_be_dropped_;
  std::optional<Nanoseconds> hold_until_;
  uint32_t restored_round_ = 0;  // rounds up to this one were over, or were taken up, by a restart
  bool said_nobody_ = false;
  Nanoseconds now_{0};
  bool finishing_ = false;
  Nanoseconds finish_began_{0};
  bool stopped_ = false;
  std::optional<Status> end_;
};

}  // namespace interlude
