#include "analysis/run_paths.h"

#include <algorithm>
#include <utility>

#include "analysis/meta_number.h"

namespace interlude {
namespace {

std::map<int32_t, int32_t> ThreadsOf(const std::vector<WorkerRecord>& workers,
                                     const std::map<std::string, std::string>& meta) {
  std::map<int32_t, int32_t> threads{{kNoWorker, MetaNumber<int32_t>(meta, kMetaMergeThreads)}};
  for (const WorkerRecord& worker : workers) threads[worker.worker] = worker.threads;
  return threads;
}

std::vector<EventRecord> ByTime(std::vector<EventRecord> events) {
  std::stable_sort(events.begin(), events.end(),
                   [](const EventRecord& a, const EventRecord& b) { return a.at_ns < b.at_ns; });
  return events;
}

std::span<const EventRecord> Within(const std::vector<EventRecord>& by_time,
                                    const RoundRecord& round) {
  const auto first =
      std::lower_bound(by_time.begin(), by_time.end(), round.begin_ns,
                       [](const EventRecord& event, int64_t at_ns) { return event.at_ns < at_ns; });
  const auto last =
      std::upper_bound(first, by_time.end(), round.end_ns,
                       [](int64_t at_ns, const EventRecord& event) { return at_ns < event.at_ns; });
  return {first, last};
}

}  // namespace

RunPaths::RunPaths(const std::vector<WorkerRecord>& workers, std::vector<EventRecord> events,
                   const std::map<std::string, std::string>& meta,
                   const std::vector<ClockRecord>& clocks, std::span<const ProcessSample> samples)
    : events_(ByTime(std::move(events))),
      clocks_(clocks),
      threads_(ThreadsOf(workers, meta)),
      throttling_(FindThrottling(workers, samples)) {
  const auto exchange = meta.find(kMetaExchange);
  barrier_ = exchange != meta.end() && exchange->second == "barrier";
}

RoundPath RunPaths::Find(const RoundRecord& round, std::span<const Span> spans,
                         std::span<const ChunkStamps> stamps,
                         std::pmr::memory_resource* memory) const {
  const std::vector<ClockEstimate> clocks = clocks_.For(round);
  return FindRoundPath({.round = round,
                        .spans = spans,
                        .stamps = stamps,
                        .events = Within(events_, round),
                        .clocks = clocks,
                        .barrier = barrier_,
                        .threads = threads_,
                        .throttling = &throttling_,
                        .memory = memory});
}

}  // namespace interlude
