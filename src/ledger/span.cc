#include "ledger/span.h"

#include <unordered_map>

namespace interlude {
namespace {

struct PhaseText {
  std::string_view name;
  std::string_view meaning;
};

PhaseText TextOf(Phase phase) {
  switch (phase) {
    case Phase::kTrain:
      return {"train", "local steps"};
    case Phase::kLoad:
      return {"load", "samples made ready for train; busy is what train waited for them"};
    case Phase::kEncode:
      return {"encode", "delta to payload"};
    case Phase::kUpload:
      return {"upload", "payload to the coordinator"};
    case Phase::kWait:
      return {"wait", "nothing to do until the first sync chunk arrives"};
    case Phase::kDownload:
      return {"download", "sync delta from the coordinator"};
    case Phase::kApply:
      return {"apply", "sync delta added to the base, parameters set to the base"};
    case Phase::kVerify:
      return {"verify", "hash of the new base against the coordinator's, and repair"};
    case Phase::kEvaluate:
      return {"evaluate", "this worker's part of the test set"};
    case Phase::kPrepare:
      return {"prepare", "model and data made ready, once"};
    case Phase::kShareBase:
      return {"share_base",
              "the first base to the coordinator; when joining, differing chunks from it"};
    case Phase::kAwaitRound:
      return {"await_round", "from the end of the round before to the start message of this one"};
    case Phase::kCall:
      return {"call", "a call to the coordinator opened, or closed behind its last chunk"};
    case Phase::kStart:
      return {"start", "the start message of a round, until it is written to a worker"};
    case Phase::kReport:
      return {"report", "a worker's report that it has applied and verified comes in"};
    case Phase::kDecide:
      return {"decide",
              "from what was heard of a chunk until its merge, or its sending, is ordered"};
    case Phase::kAsk:
      return {"ask", "a worker's call for the sync delta comes in"};
    case Phase::kLedger:
      return {"ledger", "the records of the round before are written to run.db"};
    case Phase::kReceive:
      return {"receive", "a worker's delta, from its first chunk to its last"};
    case Phase::kJournal:
      return {"journal", "received chunks to disk"};
    case Phase::kSend:
      return {"send", "sync delta to a worker, from first chunk to last"};
    case Phase::kSave:
      return {"save", "a full model to disk"};
    case Phase::kAggregate:
      return {"aggregate", "deltas decoded and summed by weight; before schema version 2"};
    case Phase::kOuterStep:
      return {"outer_step", "outer optimizer; before schema version 2"};
    case Phase::kEncodeSync:
      return {"encode_sync",
              "update to sync delta, sync delta added to the base; before schema version 2"};
    case Phase::kHash:
      return {"hash", "of the new base; before schema version 2"};
    case Phase::kMerge:
      return {"merge",
              "deltas decoded and summed by weight, outer step, sync delta, new base and its hash"};
    case Phase::kRound:
      return {"round", "the whole round"};
  }
  return {"unknown", "a number that is no phase"};
}

}  // namespace

std::string_view PhaseName(Phase phase) { return TextOf(phase).name; }

std::string_view PhaseMeaning(Phase phase) { return TextOf(phase).meaning; }

std::optional<Phase> PhaseFromNumber(int number) {
  for (const Phase phase : kAllPhases) {
    if (static_cast<int>(phase) == number) return phase;
  }
  return std::nullopt;
}

std::optional<Phase> PhaseFromName(std::string_view name) {
  static const auto* const phases = [] {
    auto* const by_name = new std::unordered_map<std::string_view, Phase>;
    for (const Phase phase : kAllPhases) by_name->emplace(PhaseName(phase), phase);
    return by_name;
  }();
  const auto found = phases->find(name);
  return found == phases->end() ? std::nullopt : std::optional(found->second);
}

}  // namespace interlude
