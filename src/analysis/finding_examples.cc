#include "analysis/finding_examples.h"

#include <functional>

namespace interlude {
namespace {

using S = ProcessSample;

constexpr double kMs = 1e6;

FindingExample Straggler() {
  FindingExample example;
  example.id = "straggler_quota_encode";
  for (int32_t worker = 0; worker < 3; ++worker) example.world.record(worker).threads = 1;
  example.world.record(1).quota_cores = 0.25;
  for (uint32_t round = 4; round <= 9; ++round) {
    example.world.Set(1, round, Phase::kEncode, {98, 1600, 0});
    example.world.AddFigure(1, round, Phase::kEncode, &S::throttled_ns, 1590 * kMs);
  }
  return example;
}

FindingExample OnPath(const char* id, std::string_view what, double share) {
  FindingExample example;
  example.id = id;
  example.path = PathOf(example.world.Tables(), {{what, share}});
  return example;
}

FindingExample SlowUploads(const char* id, int64_t S::*figure, double part) {
  FindingExample example = OnPath(id, "link_up", 0.2);
  for (int32_t worker = 0; worker < 3; ++worker) {
    for (uint32_t round = 1; round <= 12; ++round) {
      example.world.AddFigure(worker, round, Phase::kUpload, &S::tcp_busy_ns, 90 * kMs);
      example.world.AddFigure(worker, round, Phase::kUpload, &S::tcp_sent_bytes, 90 * kMs);
      if (figure != nullptr)
        example.world.AddFigure(worker, round, Phase::kUpload, figure, part * 90 * kMs);
    }
  }
  return example;
}

FindingExample WarmUp() {
  FindingExample example;
  example.id = "first_round";
  for (int32_t worker = 0; worker < 3; ++worker)
    example.world.Set(worker, 1, Phase::kTrain, {400, 0, 9600});
  return example;
}

FindingExample Threads() {
  FindingExample example;
  example.id = "more_threads_than_cores";
  example.world.SetAll(Phase::kTrain, {400, 400, 200});
  for (int32_t worker = 0; worker < 3; ++worker) example.world.record(worker).usable_cores = 2;
  return example;
}

FindingExample SharedHost() {
  FindingExample example;
  example.id = "shared_host";
  example.world.SetAll(Phase::kTrain, {400, 400, 200});
  for (int32_t worker = 0; worker < 3; ++worker) example.world.record(worker).host = "box";
  return example;
}

FindingExample Growth() {
  FindingExample example;
  example.id = "memory_grows";
  for (uint32_t round = 1; round <= 12; ++round)
    example.world.AddFigure(2, round, Phase::kTrain, &S::rss_bytes, 1e9 + 2e8 * round);
  return example;
}

FindingExample Held() {
  FindingExample example;
  example.id = "memory_held";
  example.parameters = 100'000'000;
  example.world.SetCoordinatorAfter(900'000'000);
  return example;
}

FindingExample Clocks() {
  FindingExample example;
  example.id = "clocks_uncertain";
  ClockRecord clock;
  clock.estimate.worker = 2;
  example.clocks.push_back(clock);
  return example;
}

FindingExample Loading() {
  FindingExample example;
  example.id = "training_waits_for_pictures";
  for (uint32_t round = 1; round <= 12; ++round) {
    example.world.SetLoading(0, round, 15, 300);
    example.world.SetLoading(1, round, 120, 300);
    example.world.SetLoading(2, round, 0, 300);
  }
  return example;
}

FindingExample Event(const char* id, const char* kind) {
  FindingExample example;
  example.id = id;
  EventRecord event;
  event.at_ns = 5;
  event.round = 3;
  event.worker = 1;
  event.kind = kind;
  event.text = "as it was";
  example.events.push_back(event);
  return example;
}

FindingExample WrongResult() {
  FindingExample example;
  example.id = "parameters_differ";
  example.differing_hash = true;
  return example;
}

}  // namespace

std::vector<PathShare> PathOf(const CauseTables& tables,
                              const std::vector<std::pair<std::string_view, double>>& shares) {
  std::vector<PathShare> path;
  for (const RoundRecord& round : tables.rounds) {
    const int64_t wall = round.end_ns - round.begin_ns;
    int64_t left = wall;
    for (const auto& [what, share] : shares) {
      const auto ns = static_cast<int64_t>(share * static_cast<double>(wall));
      path.push_back({round.round, what, kNoWorker, ns});
      left -= ns;
    }
    path.push_back({round.round, "train", 0, left});
  }
  return path;
}

FindingTables FindingExample::Tables() {
  if (differing_hash) world.part(1, 4).root_hash = "other";
  tables_ = world.Tables();
  return {tables_, events, clocks, parameters, config};
}

std::vector<Finding> FindingExample::Find() {
  const FindingTables tables = Tables();
  return FindFindings(tables, FindCauses(tables.tables), drags, path);
}

std::vector<FindingExample> FindingExamples() {
  return {Straggler(),
          OnPath("exchange_on_path", "apply", 0.6),
          OnPath("save_on_path", "save", 0.1),
          OnPath("evaluation_on_path", "evaluate", 0.1),
          OnPath("merge_on_path", "merge", 0.1),
          OnPath("unexplained", "unexplained", 0.03),
          SlowUploads("uploads_limited_by_loss", &S::tcp_retransmitted_bytes, 0.02),
          SlowUploads("uploads_limited_by_receiver", &S::tcp_receiver_limited_ns, 0.8),
          SlowUploads("uploads_limited_by_sender", &S::tcp_sender_limited_ns, 0.8),
          SlowUploads("uploads_limited_by_bandwidth", nullptr, 0),
          WarmUp(),
          Threads(),
          SharedHost(),
          Growth(),
          Held(),
          Clocks(),
          Loading(),
          Event("event_worker_lost", "worker_lost"),
          Event("event_late", "late"),
          Event("event_refused", "refused"),
          Event("event_coordinator_restarted", "coordinator_restarted"),
          Event("event_no_workers", "no_workers"),
          Event("event_snapshot_failed", "snapshot_failed"),
          Event("event_repair", "repair"),
          WrongResult()};
}

}  // namespace interlude
