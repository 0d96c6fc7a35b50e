// A whole run in virtual time, with faults: a coordinator that carries actions out as the real one
// does and can be killed, and workers that obey, lose their connections, die, hang and are slow.
// No second account of the rules (run_machine_test_model.h is that): it knows only what the outside
// sees, so it finds runs that hang, honest workers that are refused, and merges that differ.
// Everything follows from the seed. Reports through GoogleTest's EXPECT.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "protocol/run_machine.h"

namespace interlude {

class World {
 public:
  struct Options {
    RunPlan plan;
    uint32_t chunks = 4;
    double train_s = 10;  // local steps of one round, about
    /// How long a killed coordinator waits for the members of the open round.
    double return_patience_s = 15;
    /// An upload may still run when the session of its worker is broken.
    bool uploads_outlive_sessions = false;
  };
  /// As many processes as the plan has workers; they join at once.
  World(const Options& options, uint64_t seed);

  /// Until the run has ended or the time is over; true when it has ended.
  bool RunUntil(double seconds);
  void At(double seconds, std::function<void()> what);
  /// A machine has more processes than the run had at its beginning.
  void AddProcess(double seconds);

  // Faults, now. Processes count from 0.
  void BreakConnection(size_t process, double back_after_s);
  void Kill(size_t process, double restart_after_s);
  void Hang(size_t process, double for_s) { processes_[process].hung_until_s = now_s_ + for_s; }
  void Slow(size_t process, double factor) { processes_[process].slow = factor; }
  /// The workers come back between `down_s` and `down_s` + `spread_s` from now.
  void KillCoordinator(double down_s, double spread_s);

  const std::optional<Status>& end() const { return end_; }
  double now_s() const { return now_s_; }
  uint32_t committed() const { return journal_.committed; }
  const RunMachine& machine() const { return *machine_; }
  bool coordinator_up() const { return machine_ != nullptr; }
  size_t processes() const { return processes_.size(); }
  /// All merges ordered, in the order of rounds and chunks.
  std::vector<MergeOrder> Orders() const;

  struct Counts {
    int late = 0, dropped = 0, awaits = 0, too_late = 0, returned = 0, joined = 0, crashes = 0,
        refused = 0, ticks = 0;
  };
  const Counts& counts() const { return counts_; }
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  enum class Order : uint8_t { kNothing, kCatchUp, kRound, kFinish };
  struct Told {
    Order order = Order::kNothing;
    uint32_t round = 0;
    bool evaluate = false;
  };
  struct Process {
    bool alive = true;
    bool connected = false;
    std::optional<WorkerId> id;
    uint64_t token = 0;
    uint64_t life = 0;  // counts up whenever it drops what it does
    double hung_until_s = 0;
    double slow = 1;
    uint32_t round = 0;        // it is in, or reported last
    bool unreported = false;   // of that round
    bool finishing = false;    // it was told to
    std::optional<Told> next;  // told meanwhile
    std::vector<std::function<Status()>> unsaid;
  };
  /// What the coordinator knows of a worker that has joined.
  struct Stay {
    size_t process = 0;
    uint64_t token = 0;
    Told told;
  };
  struct JournalMember {
    uint64_t samples = 0;
    uint64_t token = 0;
    size_t process = 0;
    std::vector<uint32_t> arrived;
  };
  struct Journal {
    bool base = false;
    uint32_t committed = 0;
    std::map<uint32_t, std::map<WorkerId, JournalMember>> members;
    std::map<uint32_t, std::map<uint32_t, MergeOrder>> orders;
  };

  // The coordinator.
  Nanoseconds Now() const { return Nanoseconds(static_cast<int64_t>(now_s_ * 1e9)); }
  void Settle();
  void Do(const AskForBase& action);
  void Do(const CatchUp& action);
  void Do(const StartRound& action);
  void Do(const MergeChunk& action);
  void Do(const SendSyncChunk& action);
  void Do(const CommitRound& action);
  void Do(const EndRound& action);
  void Do(const Finish& action);
  void Do(const DropWorker& action);
  void Do(const MemberLate& action);
  void Do(const AwaitWorkers& action);
  void Do(const EndRun& action);
  void Tell(WorkerId worker, const Told& told);
  void Remove(WorkerId worker);
  void StartAgain();
  void Carry();

  // The workers.
  double Some(double least, double most) { return least + (most - least) * rng_.Uniform(); }
  void Later(size_t process, double after_s, std::function<void()> what);
  bool IsCurrent(const Process& process) const;
  void Connect(size_t process);
  void JoinAnew(size_t process);
  void Lose(size_t process);
  void Say(size_t process, std::function<Status()> what);
  void Took(const Status& status, std::string_view what, size_t process);
  void Obey(size_t process, const Told& told);
  void Stray(size_t process);
  void BeginRound(size_t process, const Told& told);
  void Upload(size_t process, uint32_t round, uint32_t chunk);
  void AwaitSync(size_t process, uint32_t round);
  void Report(size_t process, uint32_t round);

  const Options options_;
  Rng rng_;
  double now_s_ = 0;
  std::multimap<double, std::function<void()>> events_;
  std::unique_ptr<RunMachine> machine_;  // null while the coordinator is down
  uint64_t epoch_ = 0;                   // of the coordinator
  std::map<WorkerId, Stay> stays_;
  std::map<std::pair<uint32_t, uint32_t>, int> sent_;
  Journal journal_;
  std::vector<Process> processes_;
  uint64_t last_token_ = 0;
  std::optional<Status> end_;
  Counts counts_;
  std::vector<std::string> reasons_;
};

}  // namespace interlude
