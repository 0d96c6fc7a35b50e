#include "worker/catch_up.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "worker/bulk_link.h"
#include "worker/call_threads.h"
#include "worker/chunk_download.h"
#include "worker/exchange.h"

namespace interlude {
namespace {

/// Times that chunks are fetched whole. Each but the first is one because the retained sync deltas
/// were overtaken, or because a chunk did not become what it should.
constexpr int kMostPasses = 8;

class CatchingUp {
 public:
  CatchingUp(WorkerContext& context, PhaseTimer& timer)
      : context_(context), model_(context.model), timer_(timer) {}

  StatusOr<CatchUpResult> Run(uint32_t least_round);

 private:
  /// A chunk to which a sync delta was applied, and what its base is to hash to.
  struct Applied {
    uint32_t chunk = 0;
    Hash128 announced;
  };

  Status FetchBase(uint32_t round);
  Status FetchSync(uint32_t round);
  Status FetchSyncChunks(uint32_t round, const std::vector<uint32_t>& chunks,
                         std::vector<Applied>& applied);
  Status SubmitApply(uint32_t round, uint32_t chunk, bool dropped);
  /// The lowest and the newest round after which a chunk stands.
  std::pair<uint32_t, uint32_t> Range() const;
  std::span<std::byte> Stage(uint32_t chunk) {
    return model_.staging().Take(chunk).first(model_.PayloadBytes(model_.codec(), chunk));
  }

  WorkerContext& context_;
  WorkerModel& model_;
  PhaseTimer& timer_;
  CatchUpResult result_;
};

std::pair<uint32_t, uint32_t> CatchingUp::Range() const {
  std::pair<uint32_t, uint32_t> range{kNoBase, 0};
  for (uint32_t chunk = 0; chunk < model_.num_chunks(); ++chunk) {
    range.first = std::min(range.first, model_.base_round(chunk));
    range.second = std::max(range.second, model_.base_round(chunk));
  }
  return range;
}

/// All chunks that are no base of the run. `round` is for messages.
Status CatchingUp::FetchBase(uint32_t round) {
  const std::vector<uint32_t> chunks = model_.ChunksAt(kNoBase);
  if (chunks.empty()) return OkStatus();
  const auto replaced = [this](uint32_t chunk) {
    ++result_.base_chunks;
    result_.bytes += model_.PayloadBytes(Codec::kFp32, chunk);
  };
  INTERLUDE_ASSIGN_OR_RETURN(const uint32_t retries,
                             RepairBase(context_, round, chunks, timer_, replaced));
  result_.retries += retries;
  return OkStatus();
}

/// Brings the chunks that stand after round - 1 rounds to `round`, or makes them kNoBase.
Status CatchingUp::FetchSync(uint32_t round) {
  std::vector<Applied> applied;
  const Status status = FetchSyncChunks(round, model_.ChunksAt(round - 1), applied);
  context_.pool.Drain();  // what came is applied
  model_.staging().ReleaseAll();
  for (const Applied& done : applied) {
    result_.bytes += model_.PayloadBytes(model_.codec(), done.chunk);
    ++result_.sync_chunks;
    if (model_.copy().BaseHash(done.chunk) == done.announced) continue;
    model_.set_base_round(done.chunk, kNoBase);
    LogWarning("round {}, chunk {} differs after applying; it is repaired", round, done.chunk);
  }
  if (status.code() != StatusCode::kNotFound) return status;
  LogInfo("{}; what stands before it is fetched whole", status.message());
  for (const uint32_t chunk : model_.ChunksAt(round - 1)) model_.set_base_round(chunk, kNoBase);
  return OkStatus();
}

/// NotFound when the round is no longer retained; some chunks may have come before.
Status CatchingUp::FetchSyncChunks(uint32_t round, const std::vector<uint32_t>& chunks,
                                   std::vector<Applied>& applied) {
  CallGroup calls;
  const BulkLink link{context_.bulk, context_.worker, context_.session, calls, &context_.control};
  ChunkDownload download(link, DownloadKind::kSync, round, model_.PayloadBytes(model_.codec()),
                         context_.clock, timer_);
  const auto stage = [this](uint32_t chunk) { return Stage(chunk); };
  const auto deliver = [&](const ChunkReceiver::Completed& completed) {
    INTERLUDE_RETURN_IF_ERROR(SubmitApply(round, completed.chunk, completed.hashes.dropped));
    applied.push_back({completed.chunk, completed.hashes.base});
    return OkStatus();
  };
  const Status status = RunTogether({[&] { return download.Fetch(chunks, stage, deliver); }},
                                    context_.keep_going, [&] { calls.Cancel(); });
  result_.retries += download.retries();
  return status;
}

Status CatchingUp::SubmitApply(uint32_t round, uint32_t chunk, bool dropped) {
  const std::span<const std::byte> payload = Stage(chunk);
  INTERLUDE_RETURN_IF_ERROR(
      ValidatePayload(model_.codec(), payload, model_.layout().chunk(chunk).count)
          .WithContext(fmt::format("sync delta of round {}, chunk {}", round, chunk)));
  context_.pool.Submit([this, round, chunk, payload, dropped] {
    {
      const PhaseTimer::Scope scope = timer_.Enter();
      model_.ApplySync(chunk, payload, round, dropped);
    }
    model_.staging().Release(chunk);
  });
  return OkStatus();
}

StatusOr<CatchUpResult> CatchingUp::Run(uint32_t least_round) {
  for (int pass = 0; pass < kMostPasses; ++pass) {
    INTERLUDE_RETURN_IF_ERROR(FetchBase(least_round));
    result_.round = std::max(least_round, Range().second);
    for (;;) {  // kNoBase is above every round
      const uint32_t lowest = Range().first;
      if (lowest >= result_.round) break;
      INTERLUDE_RETURN_IF_ERROR(FetchSync(lowest + 1));
    }
    if (model_.ChunksAt(result_.round).size() == model_.num_chunks()) return result_;
  }
  return UnavailableError(
      "worker {} cannot catch up: rounds pass faster than it brings its base to the newest one; a "
      "faster link or a larger round.retained_syncs helps",
      context_.worker);
}

}  // namespace

StatusOr<CatchUpResult> CatchUp(WorkerContext& context, uint32_t least_round, PhaseTimer& timer) {
  return CatchingUp(context, timer).Run(least_round);
}

}  // namespace interlude
