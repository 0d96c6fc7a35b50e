// Spans: one phase of one process with a beginning and an end; what the account is made of.
// Plain values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace interlude {

/// The phases of a round. The numbers are stored in run.db and cross the wire: never reuse one.
enum class Phase : uint8_t {
  // worker
  kTrain = 1,        // local steps
  kEncode = 2,       // delta -> payload
  kUpload = 3,       // payload -> coordinator
  kWait = 4,         // nothing to do until the first sync chunk arrives
  kDownload = 5,     // sync delta from the coordinator
  kApply = 6,        // base += sync delta; parameters = base
  kVerify = 7,       // hash of the new base against the coordinator's, and repair
  kEvaluate = 8,     // this worker's part of the test set
  kPrepare = 9,      // model and data made ready, once
  kShareBase = 10,   // the first base to the coordinator; when joining, differing chunks from it
  kAwaitRound = 11,  // from the end of the round before to the message that starts this one
  kCall = 12,        // a call to the coordinator is opened, or closed behind its last chunk
  kLoad = 13,        // samples made ready for kTrain, which it lies over; busy: training waited
  // coordinator
  kReceive = 32,    // from a worker's first delta chunk to its last
  kAggregate = 33,  // 33 to 36: the parts of what is now kMerge, in runs of schema version 1
  kOuterStep = 34,
  kEncodeSync = 35,
  kHash = 36,
  kJournal = 37,  // received chunks to disk
  kSend = 38,     // sync delta to a worker, from first chunk to last
  kSave = 39,     // a full model to disk
  kRound = 40,    // the whole round
  kMerge = 41,    // decode and weighted sum, outer step, sync delta, base += it, hash: one pass
  kStart = 42,    // a round's start message, from its decision until it is written to a worker
  kReport = 43,   // a worker's report that it has applied and verified comes in: one moment
  kDecide = 44,   // from what was heard of a chunk until its merge, or its sending, is ordered
  kAsk = 45,      // a worker's call for the sync delta comes in: one moment
  kLedger = 46,   // the records of the round before to run.db, before anything else is done
};

/// Every phase, workers' first, in the order in which a round passes through them.
inline constexpr std::array kAllPhases = {
    Phase::kPrepare,   Phase::kShareBase,  Phase::kAwaitRound, Phase::kTrain,    Phase::kLoad,
    Phase::kEncode,    Phase::kUpload,     Phase::kWait,       Phase::kDownload, Phase::kApply,
    Phase::kCall,      Phase::kVerify,     Phase::kEvaluate,   Phase::kLedger,   Phase::kStart,
    Phase::kAsk,       Phase::kReceive,    Phase::kJournal,    Phase::kDecide,   Phase::kAggregate,
    Phase::kOuterStep, Phase::kEncodeSync, Phase::kHash,       Phase::kMerge,    Phase::kSend,
    Phase::kReport,    Phase::kSave,       Phase::kRound};

/// "train", "outer_step", ...; the name in run.db, JSON and the report. "unknown" for a number that
/// is no phase.
std::string_view PhaseName(Phase phase);
/// One sentence for people: what is inside the phase.
std::string_view PhaseMeaning(Phase phase);
/// Numbers from here on are the coordinator's.
inline constexpr int kFirstCoordinatorPhase = 32;
/// True for the phases that workers record, false for the coordinator's.
constexpr bool IsWorkerPhase(Phase phase) {
  return static_cast<int>(phase) < kFirstCoordinatorPhase;
}

std::optional<Phase> PhaseFromNumber(int number);
std::optional<Phase> PhaseFromName(std::string_view name);

/// Worker id of the coordinator's own spans.
inline constexpr int32_t kNoWorker = -1;

/// The round of spans that belong to none yet: rounds count from 1.
inline constexpr uint32_t kBeforeRounds = 0;

/// One phase. Times are CLOCK_MONOTONIC of the process that recorded it and comparable only within
/// it. A phase that works chunk by chunk (encode, upload, apply...) is one span from its first
/// beginning to its last end; `busy_ns` is the part of it in which at least one thread was in the
/// phase itself, so that parallel phases are seen.
struct Span {
  Phase phase = Phase::kTrain;
  uint32_t round = kBeforeRounds;
  int32_t recorded_by = kNoWorker;  // the process: a worker's id, or kNoWorker for the coordinator
  int32_t about_worker =
      kNoWorker;  // whose delta or sync it concerns (receive, send, journal), else kNoWorker
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t busy_ns = 0;
  int64_t cpu_ns = 0;        // of all threads that worked on it
  int64_t run_delay_ns = 0;  // runnable but not running; of all threads that worked on it
  uint64_t bytes = 0;        // moved or made by the phase
  uint32_t chunks = 0;       // chunks it covered; 0 where it has none
  bool ok = true;
  int64_t blocked_ns = 0;  // asleep within the phase: network, disk, a lock, another thread

  friend bool operator==(const Span&, const Span&) = default;
};

}  // namespace interlude
