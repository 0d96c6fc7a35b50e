#include "protocol/run_machine_test_util.h"

#include <utility>

namespace interlude {
namespace {

std::string Ids(const std::vector<WorkerId>& workers) {
  return fmt::format("{}", fmt::join(workers, ","));
}

struct TextOf {
  std::string operator()(const AskForBase& a) const {
    return fmt::format("AskForBase {}", a.worker);
  }
  std::string operator()(const CatchUp& a) const { return fmt::format("CatchUp {}", a.worker); }
  std::string operator()(const StartRound& a) const {
    return fmt::format("StartRound {}{} members {}", a.round, a.evaluate ? " evaluate" : "",
                       Ids(a.members));
  }
  std::string operator()(const MergeChunk& a) const {
    std::vector<std::string> from;
    for (const Contributor& c : a.order.contributors)
      from.push_back(fmt::format("{}:{}", c.worker, c.samples));
    return fmt::format("MergeChunk {}/{} from {}", a.order.round, a.order.chunk,
                       fmt::join(from, ","));
  }
  std::string operator()(const SendSyncChunk& a) const {
    return fmt::format("SendSyncChunk {}/{}", a.round, a.chunk);
  }
  std::string operator()(const CommitRound& a) const {
    return fmt::format("CommitRound {}", a.round);
  }
  std::string operator()(const EndRound& a) const { return fmt::format("EndRound {}", a.round); }
  std::string operator()(const Finish& a) const { return fmt::format("Finish {}", Ids(a.members)); }
  std::string operator()(const DropWorker& a) const {
    return fmt::format("DropWorker {} {}", a.worker, StatusCodeName(a.reason.code()));
  }
  std::string operator()(const MemberLate& a) const {
    return fmt::format("MemberLate {} {}/{} missing {}", a.worker, a.round, a.chunk,
                       a.chunks_missing);
  }
  std::string operator()(const AwaitWorkers& /*a*/) const { return "AwaitWorkers"; }
  std::string operator()(const EndRun& a) const {
    return fmt::format("EndRun {}", StatusCodeName(a.status.code()));
  }
};

}  // namespace

std::string ActionText(const Action& action) { return std::visit(TextOf{}, action); }

Hash128 RootOf(uint32_t round) { return {.high = 0xABCD000000000000 + round, .low = 42}; }

std::vector<std::string> CarriedMachine::Carry(const std::function<bool(const Action&)>& watch) {
  std::vector<std::string> texts;
  for (;;) {
    const std::vector<Action> actions = machine_->TakeActions();
    if (actions.empty()) return texts;
    for (const Action& action : actions) {
      if (watch && !watch(action)) return texts;
      texts.push_back(ActionText(action));
      if (const auto* merge = std::get_if<MergeChunk>(&action)) {
        machine_->ChunkMerged(merge->order.round, merge->order.chunk, Tick());
      } else if (const auto* commit = std::get_if<CommitRound>(&action)) {
        machine_->RoundCommitted(commit->round, RootOf(commit->round), Tick());
      } else if (const auto* end = std::get_if<EndRound>(&action)) {
        last_end_ = machine_->open_round(end->round)->times().end;
      } else if (const auto* drop = std::get_if<DropWorker>(&action)) {
        machine_->WorkerLeft(drop->worker, Tick());
      }
    }
  }
}

}  // namespace interlude
