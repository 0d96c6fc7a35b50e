#include "report/report_json_account.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "ledger/span_math.h"

namespace interlude::internal {
namespace {

Json ProcessOf(int32_t worker) { return worker == kNoWorker ? Json(nullptr) : Json(worker); }

Json ChunkOf(uint32_t chunk) { return chunk == kNoChunk ? Json(nullptr) : Json(chunk); }

/// Which span a stamp belongs to.
using SpanKey = std::tuple<uint32_t, Phase, int32_t, int32_t>;

std::map<SpanKey, Json> ChunksBySpan(const std::vector<ChunkStamps>& all) {
  std::map<SpanKey, Json> chunks;
  for (const ChunkStamps& of : all) {
    Json& list = chunks[{of.round, of.phase, of.recorded_by, of.about_worker}];
    for (const ChunkStamp& stamp : of.stamps)
      list.push_back({stamp.chunk, stamp.begin_ns, stamp.end_ns});
  }
  return chunks;
}

/// Null where the worker was not slow in the round.
Json CauseIn(const std::vector<WorkerRoundCause>& causes, uint32_t round, int32_t worker) {
  const auto found = std::lower_bound(causes.begin(), causes.end(), std::pair(round, worker),
                                      [](const WorkerRoundCause& cause, const auto& wanted) {
                                        return std::pair(cause.round, cause.worker) < wanted;
                                      });
  if (found == causes.end() || found->round != round || found->worker != worker) return nullptr;
  const Cause& cause = found->cause;
  return {{"letter", std::string(1, cause.letter)}, {"kind", CauseName(cause.kind)},
          {"grade", GradeName(cause.grade)},        {"share", cause.share()},
          {"excess_ns", cause.excess_ns},           {"evidence", cause.evidence}};
}

Json ExcessIn(const Excesses& excesses, uint32_t round, int32_t worker) {
  const auto found = excesses.find({round, worker});
  return found == excesses.end() ? Json(nullptr) : Json(found->second);
}

/// What a piece in which nothing was done stands before; null of the others.
Json NextOf(const PathPiece& piece) {
  if (piece.next == piece.what) return nullptr;
  return piece.next == ActivityKind::kJoin ? Json("end") : Json(ActivityName(piece.next));
}

/// One process's resident memory, and who owned it then: an owner's record holds until its next.
class MemoryOverTime {
 public:
  void Add(const ProcessSample& sample) {
    if (sample.rss_bytes >= 0) rss_[sample.at_ns] = sample.rss_bytes;
  }
  void Add(const MemoryRecord& record) { owners_[record.owner][record.at_ns] = record.bytes; }

  Json ToJson(int32_t process) const {
    const std::vector<int64_t> times = Times();
    Json seconds = Json::array(), rss = Json::array(), owners = Json::object();
    for (const int64_t at_ns : times) {
      seconds.push_back(SecondsBetween(times.front(), at_ns));
      rss.push_back(rss_.at(at_ns));
    }
    for (const auto& [owner, records] : owners_) {
      Json& values = owners[owner] = Json::array();
      for (const int64_t at_ns : times) {
        const auto next = records.upper_bound(at_ns);
        values.push_back(next == records.begin() ? 0 : std::prev(next)->second);
      }
    }
    return {
        {"process", ProcessOf(process)}, {"times_s", seconds}, {"rss", rss}, {"owners", owners}};
  }
  bool empty() const { return rss_.empty(); }

 private:
  /// Of each run of neighbours the one with the most memory.
  std::vector<int64_t> Times() const {
    const size_t stride = (rss_.size() + kMostMemoryPoints - 1) / kMostMemoryPoints;
    std::vector<int64_t> times;
    size_t position = 0;
    for (const auto& [at_ns, bytes] : rss_) {
      if (position++ % stride == 0) {
        times.push_back(at_ns);
      } else if (bytes > rss_.at(times.back())) {
        times.back() = at_ns;
      }
    }
    return times;
  }

  std::map<int64_t, int64_t> rss_;
  std::map<std::string, std::map<int64_t, int64_t>> owners_;
};

}  // namespace

Json JsonOfPath(const RunSummary& run, const RoundPath& path) {
  Json pieces = Json::array(), workers = Json::array();
  for (const PathPiece& piece : path.pieces) {
    pieces.push_back({{"what", ActivityName(piece.what)},
                      {"next", NextOf(piece)},
                      {"worker", ProcessOf(piece.worker)},
                      {"chunk", ChunkOf(piece.chunk)},
                      {"begin_ns", piece.begin_ns - path.begin_ns},
                      {"end_ns", piece.end_ns - path.begin_ns},
                      {"error_ns", piece.error_ns}});
  }
  for (const WorkerPath& worker : path.workers) {
    const bool limited = worker.slack_ns != kUnlimitedSlack;
    workers.push_back({{"worker", worker.worker},
                       {"slack_ns", limited ? Json(worker.slack_ns) : Json(nullptr)},
                       {"drag_ns", worker.drag_ns},
                       {"excess_ns", ExcessIn(run.excesses, path.round, worker.worker)},
                       {"cause", CauseIn(run.causes, path.round, worker.worker)}});
  }
  return {{"pieces", std::move(pieces)},
          {"unexplained_ns", path.unexplained_ns},
          {"workers", std::move(workers)},
          {"notes", path.notes}};
}

Json JsonOfFindings(const RunSummary& run) {
  Json list = Json::array();
  for (const Finding& finding : run.findings) {
    list.push_back({{"id", finding.id},
                    {"workers", finding.workers},
                    {"text", finding.text},
                    {"grade", GradeName(finding.grade)},
                    {"saves_ns_per_round", finding.saves_ns_per_round},
                    {"round_share", finding.round_share},
                    {"evidence", finding.evidence},
                    {"records", finding.records},
                    {"try", finding.try_this}});
  }
  return list;
}

Json JsonOfTimeline(const RunSummary& run) {
  std::map<SpanKey, Json> chunks = ChunksBySpan(run.records.stamps);
  Json list = Json::array();
  for (const Span& span : run.records.spans) {
    const auto found = chunks.find({span.round, span.phase, span.recorded_by, span.about_worker});
    Json of_span = nullptr;
    if (found != chunks.end()) {
      of_span = std::move(found->second);
      chunks.erase(found);  // of several spans of a phase the first has them
    }
    list.push_back({{"round", span.round},
                    {"process", ProcessOf(span.recorded_by)},
                    {"phase", PhaseName(span.phase)},
                    {"about", ProcessOf(span.about_worker)},
                    {"chunks", std::move(of_span)},
                    {"begin_ns", span.begin_ns},
                    {"end_ns", span.end_ns}});
  }
  return list;
}

Json JsonOfClocks(const RunSummary& run) {
  Json list = Json::array();
  for (const RoundPath& path : run.paths) {
    for (const WorkerPath& worker : path.workers) {
      const bool known = worker.clock.source != ClockSource::kNone;
      list.push_back({{"worker", worker.worker},
                      {"round", path.round},
                      {"method", ClockSourceName(worker.clock.source)},
                      {"at_ns", 0},
                      {"offset_ns", known ? Json(worker.clock.shift_ns) : Json(nullptr)},
                      {"drift", 0},
                      {"error_ns", worker.clock.error_ns}});
    }
  }
  return list;
}

Json JsonOfMemory(const RunSummary& run) {
  std::map<int32_t, MemoryOverTime> processes;
  for (const ProcessSample& sample : run.records.samples) processes[sample.recorded_by].Add(sample);
  for (const MemoryRecord& record : run.records.memory) processes[record.recorded_by].Add(record);
  Json list = Json::array();
  for (const auto& [process, memory] : processes) {
    if (!memory.empty()) list.push_back(memory.ToJson(process));
  }
  return list;
}

}  // namespace interlude::internal
