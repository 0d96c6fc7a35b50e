#include "bench/long_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/round_simulation.h"
#include "ledger/run_database.h"

namespace interlude {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
/// Records of memory come every second second, one for each owner.
constexpr const char* kOwners[] = {"allocator, in use",
                                   "allocator, kept free",
                                   "base",
                                   "compiled code",
                                   "parameters",
                                   "payloads",
                                   "residual",
                                   "stacks",
                                   "staging",
                                   "the rest"};

/// Worker 5 is slow at encoding now and then, so that there are causes to find.
constexpr int32_t kSlowWorker = 5;
bool IsSlow(uint32_t round) { return round % 8 == 0; }

SimulationPlan PlanOf(const LongRunOptions& options) {
  SimulationPlan plan;
  plan.seed = 1;
  plan.chunks = options.chunks;
  for (int32_t worker = 0; worker < options.workers; ++worker)
    plan.workers.push_back({.clock_offset_ns = worker * 100 * kSecondNs, .drift = worker * 1e-6});
  return plan;
}

class LongRun {
 public:
  LongRun(const LongRunOptions& options, RunDatabase& database)
      : options_(options), plan_(PlanOf(options)), state_(FirstState(plan_)), database_(database) {}

  Status Write() {
    INTERLUDE_RETURN_IF_ERROR(AddMeta());
    sampled_ns_ = state_.begin_ns;
    for (uint32_t round = 1; spans_ < options_.spans; ++round)
      INTERLUDE_RETURN_IF_ERROR(AddRound(round));
    for (const ClockEstimate& estimate : clocks_)
      INTERLUDE_RETURN_IF_ERROR(database_.AddClock(std::nullopt, estimate));
    return OkStatus();
  }

 private:
  Status AddMeta() {
    INTERLUDE_RETURN_IF_ERROR(database_.SetMeta(kMetaTitle, "a simulated long run"));
    INTERLUDE_RETURN_IF_ERROR(database_.SetMeta(kMetaExchange, "pipelined"));
    INTERLUDE_RETURN_IF_ERROR(database_.SetMeta(kMetaCodec, "q4"));
    INTERLUDE_RETURN_IF_ERROR(database_.SetMeta(kMetaParameters, "67108864"));
    INTERLUDE_RETURN_IF_ERROR(
        database_.SetMeta(kMetaMergeThreads, std::to_string(plan_.merge_threads)));
    for (int32_t worker = 0; worker < options_.workers; ++worker) {
      INTERLUDE_RETURN_IF_ERROR(database_.AddWorker({.worker = worker,
                                                     .host = "host",
                                                     .visible_cores = 4,
                                                     .usable_cores = 4,
                                                     .threads = 2,
                                                     .joined_ns = state_.begin_ns}));
    }
    return OkStatus();
  }

  Status AddRound(uint32_t number) {
    if (options_.workers > kSlowWorker)
      plan_.workers[kSlowWorker].encode = IsSlow(number) ? 2.5 : 1;
    SimulatedRound round = SimulateRound(plan_, number, state_);
    state_ = round.next;
    round.round.workers = static_cast<uint32_t>(options_.workers);
    round.round.first_delta_ns = round.round.last_delta_ns = round.round.committed_ns;
    round.round.root_hash = std::string(32, 'a');
    Account account;
    account.spans = std::move(round.spans);
    CompleteSpans(round.round, account);
    spans_ += account.spans.size();
    account.stamps = std::move(round.stamps);
    for (; sampled_ns_ < round.round.end_ns; sampled_ns_ += kSecondNs) AddSecond(account);
    clocks_ = round.clocks;
    INTERLUDE_RETURN_IF_ERROR(database_.AddRound(round.round, PartsOf(round.round), account));
    for (ClockEstimate& estimate : round.clocks) {
      estimate.method = ClockMethod::kMinimum;
      INTERLUDE_RETURN_IF_ERROR(database_.AddClock(number, estimate));
    }
    return OkStatus();
  }

  /// The spans that the simulation knows nothing of, and what all of them used.
  void CompleteSpans(const RoundRecord& round, Account& account) const {
    const auto add = [&](Phase phase, int32_t by, int32_t about, int64_t begin, int64_t end) {
      account.spans.push_back({.phase = phase,
                               .round = round.round,
                               .recorded_by = by,
                               .about_worker = about,
                               .begin_ns = begin,
                               .end_ns = end});
    };
    for (int32_t worker = 0; worker < options_.workers; ++worker) {
      const auto trained =
          std::find_if(account.spans.begin(), account.spans.end(), [&](const Span& span) {
            return span.phase == Phase::kTrain && span.recorded_by == worker;
          });
      const int64_t end_ns = trained->end_ns;
      add(Phase::kWait, worker, kNoWorker, end_ns, end_ns + 30 * kMilli);
      add(Phase::kJournal, kNoWorker, worker, round.committed_ns - 50 * kMilli, round.committed_ns);
    }
    add(Phase::kRound, kNoWorker, kNoWorker, round.begin_ns, round.end_ns);
    for (Span& span : account.spans) {
      span.busy_ns = span.end_ns - span.begin_ns;
      span.cpu_ns = span.busy_ns / 2;
      span.run_delay_ns = span.busy_ns / 8;
      span.blocked_ns = span.busy_ns - span.cpu_ns - span.run_delay_ns;
      span.bytes = 33'554'432;
      span.chunks = options_.chunks;
    }
  }

  std::vector<WorkerRoundRecord> PartsOf(const RoundRecord& round) const {
    std::vector<WorkerRoundRecord> parts;
    for (int32_t worker = 0; worker < options_.workers; ++worker) {
      parts.push_back({.round = round.round,
                       .worker = worker,
                       .samples = 2560,
                       .mean_loss = 2,
                       .root_hash = round.root_hash,
                       .upload_bytes = 33'554'432,
                       .download_bytes = 33'554'432});
    }
    return parts;
  }

  /// What each process records of a second, the coordinator's included.
  void AddSecond(Account& account) const {
    for (int32_t process = kNoWorker; process < options_.workers; ++process) {
      const int64_t offset_ns =
          process == kNoWorker ? 0 : plan_.workers[static_cast<size_t>(process)].clock_offset_ns;
      ProcessSample sample{.recorded_by = process, .at_ns = sampled_ns_ - offset_ns};
      int64_t value = sampled_ns_ / 1000;
      for (const SampleField& field : kSampleFields)
        sample.*field.value = (value = value * 31 + 7) % 400'000'000;
      sample.interval_ns = kSecondNs;
      sample.throttled_ns = sample.steal_ns = sample.major_faults = 0;
      account.samples.push_back(sample);
      if (sampled_ns_ / kSecondNs % 2 == 0) {
        for (const char* owner : kOwners)
          account.memory.push_back({process, sample.at_ns, owner, sample.rss_bytes / 10});
      }
      if (process == kNoWorker) continue;
      account.probes.push_back({.worker = process,
                                .sent_ns = sample.at_ns,
                                .received_ns = sampled_ns_ + kMilli,
                                .replied_ns = sampled_ns_ + kMilli + 2000,
                                .returned_ns = sample.at_ns + 2 * kMilli + value % kMilli,
                                .run_delay_ns = 3000});
    }
  }

  const LongRunOptions options_;
  SimulationPlan plan_;
  SimulationState state_;
  RunDatabase& database_;
  std::vector<ClockEstimate> clocks_;
  int64_t sampled_ns_ = 0;
  uint64_t spans_ = 0;
};

}  // namespace

Status WriteLongRun(const std::string& path, const LongRunOptions& options) {
  INTERLUDE_ASSIGN_OR_RETURN(const auto database, RunDatabase::Create(path));
  return LongRun(options, *database).Write();
}

}  // namespace interlude
