// What the workers say to the round thread.
#include "base/log.h"
#include "coordinator/round_thread.h"

namespace interlude {

void RoundThread::On(WorkerSaidEvent& event) {
  if (!IsCurrent(*event.session)) return;
  const WorkerId worker = event.session->worker;
  members_.at(worker).last_number = event.number;
  const Status status =
      std::visit([&](auto& message) { return Said(worker, message); }, event.message);
  if (status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kDataLoss) {
    Offended(worker, status);
  } else if (!status.ok()) {
    Remove(worker, status);
  }
}

Status RoundThread::Said(WorkerId worker, JoinMessage& /*message*/) {
  return FailedPreconditionError("worker {} joined already", worker);
}

Status RoundThread::Said(WorkerId worker, BaseOfferMessage& message) {
  INTERLUDE_RETURN_IF_ERROR(CheckData(worker, message.data));
  INTERLUDE_RETURN_IF_ERROR(CheckLayout(worker, message.layout));
  const uint32_t num_chunks = message.layout.num_chunks();
  if (message.chunk_hashes.size() != num_chunks) {
    return InvalidArgumentError("worker {} offers {} chunk hashes for a layout with {} chunks",
                                worker, message.chunk_hashes.size(), num_chunks);
  }
  INTERLUDE_RETURN_IF_ERROR(
      machine_.WorkerReady(worker, num_chunks, shared_.clock.Now(), message.may_provide));
  // From here on it counts, and what it says of the run is the run's.
  if (exchange_ == nullptr) {
    const Status made = MakeExchange(message.layout);
    if (!made.ok()) Fail(made);  // this machine's lack, not the worker's fault
  }
  LearnData(worker, message.data);
  members_[worker].offered_hashes = std::move(message.chunk_hashes);
  book_.WorkerAccount(worker, std::move(message.account));
  book_.Ready(worker, message.threads);
  return OkStatus();
}

Status RoundThread::CheckLayout(WorkerId worker, const Layout& layout) const {
  if (exchange_ != nullptr) {
    const Layout& ours = exchange_->merger->layout();
    if (layout.signature() == ours.signature()) return OkStatus();
    return FailedPreconditionError(
        "worker {} has another layout than the run: {}; this worker builds another model: check "
        "its version of "
        "interlude and its model files",
        worker, layout.DescribeDifference(ours));
  }
  if (layout.chunk_params() != options_.config.round.chunk_params) {
    return FailedPreconditionError(
        "worker {} cuts chunks of {} parameters, the run's configuration says {}", worker,
        layout.chunk_params(), options_.config.round.chunk_params);
  }
  return OkStatus();
}

Status RoundThread::CheckData(WorkerId worker, const DataFacts& data) const {
  std::string difference = DescribeDifference(data, data_);
  // Of another set the shares would overlap.
  if (difference.empty() && !IsLocal(options_.config.data))
    difference = DescribeCountDifference(data, data_);
  if (difference.empty()) return OkStatus();
  return FailedPreconditionError(
      "worker {}'s data differ: {}; give all workers {}", worker, difference,
      IsLocal(options_.config.data) ? "the same classes, in classes.txt where pictures lack"
                                    : "the same data set");
}

void RoundThread::LearnData(WorkerId worker, const DataFacts& data) {
  if (data_.classes.empty()) data_.classes = data.classes;
  if (data_.mean.empty()) {
    data_.mean = data.mean;
    data_.deviation = data.deviation;
  }
  if (IsLocal(options_.config.data)) {
    book_.Counted(worker, data.counts);
  } else if (data_.counts.empty() && !data.counts.empty()) {
    data_.counts = data.counts;
    book_.Counted(kNoWorker, data.counts);
  }
  if (base_stored_) StoreData();
}

void RoundThread::StoreData() {
  if (!data_.classes.empty()) book_.Meta(kMetaClasses, ClassesText(data_));
  if (!data_.mean.empty()) book_.Meta(kMetaNormalization, NormalizationText(data_));
}

Status RoundThread::MakeExchange(const Layout& layout) {
  auto exchange = std::make_shared<Exchange>();
  INTERLUDE_ASSIGN_OR_RETURN(exchange->merger, Merger::Create(layout, options_.config));
  INTERLUDE_ASSIGN_OR_RETURN(
      exchange->deltas, DeltaStore::Create(options_.directory, layout, CodecOf(options_.config),
                                           StorageOf(options_.config, options_.workers)));
  exchange->base_chunk_bytes = ChunkPayloadBytes(layout, Codec::kFp32);
  exchange_ = exchange;
  shared_.SetExchange(exchange);
  book_.Meta(kMetaParameters, std::to_string(layout.total_params()));
  book_.Meta("chunks", std::to_string(layout.num_chunks()));
  book_.Meta("layout_signature", layout.signature().ToHex());
  return OkStatus();
}

Status RoundThread::Said(WorkerId worker, CaughtUpMessage& message) {
  const auto behind = [&] { return machine_.membership().stage(worker) == WorkerStage::kReady; };
  const bool was_behind = behind();
  INTERLUDE_RETURN_IF_ERROR(machine_.CaughtUp(worker, message.round, shared_.clock.Now()));
  book_.WorkerAccount(worker, std::move(message.account));
  const uint32_t passed = machine_.committed_rounds() - members_[worker].behind_since;
  if (message.base_chunks > 0 || message.sync_chunks > 0) {
    book_.Event("catch_up", worker,
                fmt::format("up to round {}: {} chunks of the base and {} of sync deltas fetched "
                            "({} bytes), {} rounds passed meanwhile",
                            message.round, message.base_chunks, message.sync_chunks, message.bytes,
                            passed));
  }
  if (was_behind && !behind()) observer_.CaughtUp(worker, message.round);
  return OkStatus();
}

Status RoundThread::Said(WorkerId worker, ProgressMessage& message) {
  const RoundExchange* newest = NewestRound();
  if (newest == nullptr || newest->round() != message.round) return OkStatus();
  members_[worker].steps_done = message.steps_done;
  ReportProgress();
  return OkStatus();
}

Status RoundThread::Said(WorkerId worker, RoundReportMessage& message) {
  INTERLUDE_RETURN_IF_ERROR(
      machine_.RoundReported(worker, message.round, message.root, shared_.clock.Now()));
  if (message.repaired_chunks > 0) {
    book_.Event("repair", worker,
                fmt::format("round {}: {} chunks of the base differed and were fetched again",
                            message.round, message.repaired_chunks));
    LogWarning("worker {} repaired {} chunks in round {}", worker, message.repaired_chunks,
               message.round);
  }
  book_.Report(worker, std::move(message));
  return OkStatus();
}

Status RoundThread::Said(WorkerId worker, EvaluationReportMessage& message) {
  const Status status =
      machine_.EvaluationReported(worker, message.after_rounds, shared_.clock.Now());
  if (status.code() == StatusCode::kAborted) return OkStatus();  // too late, and no harm
  INTERLUDE_RETURN_IF_ERROR(status);
  // Of a round that ended before this coordinator was started nothing is awaited, and no harm done.
  if (!evaluations_.Report(worker, message).ok()) return OkStatus();
  book_.WorkerAccount(worker, std::move(message.account));
  CompleteEvaluations();
  return OkStatus();
}

Status RoundThread::Said(WorkerId worker, LeaveMessage& message) {
  if (message.failed) return AbortedError("worker {} failed: {}", worker, message.reason);
  return UnavailableError("worker {} left: {}", worker, message.reason);
}

}  // namespace interlude
