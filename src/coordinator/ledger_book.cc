#include "coordinator/ledger_book.h"

#include <algorithm>
#include <numeric>

#include "base/log.h"
#include "ledger/recording.h"
#include "ledger/span_math.h"

namespace interlude {
namespace {

RoundRecord MakeRecord(const RoundExchange& exchange, const Hash128& root) {
  const RoundTimes& times = exchange.times();
  RoundRecord record;
  record.round = exchange.round();
  record.begin_ns = times.begin.count();
  record.end_ns = times.end.count();
  record.committed_ns = times.committed.count();
  record.first_delta_ns = times.first_delta.count();
  record.last_delta_ns = times.last_delta.count();
  record.first_sync_ns = times.first_sync.count();
  record.root_hash = root.ToHex();
  const std::vector<Contributor> contributors = exchange.contributors();
  record.workers = static_cast<uint32_t>(contributors.size());
  for (const Contributor& contributor : contributors) record.samples += contributor.samples;
  return record;
}

size_t EntriesIn(const Account& account) {
  size_t entries = account.spans.size() + account.stamps.size() + account.samples.size() +
                   account.memory.size() + account.probes.size();
  for (const ChunkStamps& stamps : account.stamps) entries += stamps.stamps.size();
  return entries;
}

double LongestSeconds(const std::vector<Span>& spans, Phase phase) {
  double longest = 0;
  for (const Span& span : spans) {
    if (span.phase == phase) longest = std::max(longest, InsideSeconds(span));
  }
  return longest;
}

std::optional<double> ShortestExchangeSeconds(const std::vector<Span>& spans) {
  std::optional<double> shortest;
  for (const auto& [worker, seconds] : ExchangeSecondsByWorker(spans))
    shortest = std::min(shortest.value_or(seconds), seconds);
  return shortest;
}

}  // namespace

LedgerBook::LedgerBook(std::unique_ptr<RunDatabase> database, Recorder& recorder,
                       const Clock& clock)
    : database_(std::move(database)), recorder_(recorder), clock_(clock) {
  if (!RecordingIsOn()) Meta(kMetaAccount, kNoAccount);
  const StatusOr<std::vector<ClockProbe>> probes = database_->Probes();
  Check(probes.status());
  if (probes.ok()) clocks_.Keep(*probes);
}

void LedgerBook::Check(const Status& status) {
  if (status.ok() || failed_) return;
  failed_ = true;
  LogError("a part of the ledger could not be written; the run goes on: {}", status.ToString());
}

void LedgerBook::Meta(const std::string& key, const std::string& value) {
  Check(database_->SetMeta(key, value));
}

std::string LedgerBook::MetaText(const std::string& key) {
  const StatusOr<std::optional<std::string>> value = database_->GetMeta(key);
  Check(value.status());
  return value.ok() ? value->value_or("") : "";
}

void LedgerBook::Joined(WorkerId worker, const JoinMessage& join) {
  WorkerRecord record;
  record.worker = worker;
  record.host = join.host;
  record.process_id = join.process_id;
  record.visible_cores = join.visible_cores;
  record.quota_cores = join.quota_cores;
  record.usable_cores = join.usable_cores;
  record.software = join.software;
  record.joined_ns = clock_.Now().count();
  joined_[worker] = record;
  Check(database_->AddWorker(record));
}

void LedgerBook::Ready(WorkerId worker, int32_t threads) {
  const auto it = joined_.find(worker);
  if (it == joined_.end()) return;
  it->second.threads = threads;
  Check(database_->AddWorker(it->second));
}

void LedgerBook::Counted(WorkerId worker, const ClassCounts& counts) {
  const ClassCounts before = CountsOf(worker);
  if (before == counts) return;
  Check(database_->AddClassCounts({.worker = worker, .counts = counts}));
  if (before.empty()) return;
  Event("data_changed", worker,
        fmt::format("{} training and {} test pictures, before {} and {}",
                    std::reduce(counts.train.begin(), counts.train.end()),
                    std::reduce(counts.test.begin(), counts.test.end()),
                    std::reduce(before.train.begin(), before.train.end()),
                    std::reduce(before.test.begin(), before.test.end())));
}

ClassCounts LedgerBook::CountsOf(WorkerId worker) {
  const StatusOr<std::vector<ClassCountsRecord>> all = database_->ClassCounts();
  Check(all.status());
  if (!all.ok()) return {};
  const auto it = std::ranges::find(*all, worker, &ClassCountsRecord::worker);
  return it == all->end() ? ClassCounts() : it->counts;
}

void LedgerBook::Left(WorkerId worker, const std::string& reason) {
  joined_.erase(worker);
  Check(database_->WorkerLeft(worker, clock_.Now().count(), reason));
  Event("worker_left", worker, reason);  // stays when another worker takes the place
}

void LedgerBook::Event(const std::string& kind, WorkerId worker, const std::string& text) {
  EventRecord event;
  event.at_ns = clock_.Now().count();
  if (newest_ != kBeforeRounds) event.round = newest_;
  event.worker = worker;
  event.kind = kind;
  event.text = text;
  Check(database_->AddEvent(event));
}

/// Spans and stamps to their rounds; the rest belongs to a time, not to a round.
void LedgerBook::Sort(Account account) {
  // The final evaluation's spans carry the number of the round that would have come next.
  const auto not_begun = [this](const auto& entry) { return entry.round > newest_ + 1; };
  std::erase_if(account.spans, not_begun);
  std::erase_if(account.stamps, not_begun);
  const auto place = [this](uint32_t round) -> Account& {
    return round >= first_open_ ? open_[round].account : loose_;
  };
  for (Span& span : std::exchange(account.spans, {})) place(span.round).spans.push_back(span);
  for (ChunkStamps& stamps : std::exchange(account.stamps, {})) {
    place(stamps.round).stamps.push_back(std::move(stamps));
  }
  loose_.Append(std::move(account));
}

void LedgerBook::WorkerAccount(WorkerId worker, Account account) {
  const size_t before = std::exchange(taken_[worker], taken_[worker] + EntriesIn(account));
  if (taken_[worker] > kMostEntriesOfAWorker) {
    if (before <= kMostEntriesOfAWorker) {
      LogWarning(
          "worker {} has sent more than {} records since the last round ended; the rest is "
          "dropped",
          worker, kMostEntriesOfAWorker);
    }
    return;
  }
  for (Span& span : account.spans) span.recorded_by = worker;
  for (ChunkStamps& stamps : account.stamps) stamps.recorded_by = worker;
  for (ProcessSample& sample : account.samples) sample.recorded_by = worker;
  for (MemoryRecord& record : account.memory) record.recorded_by = worker;
  for (ClockProbe& probe : account.probes) probe.worker = worker;
  clocks_.Keep(account.probes);
  Sort(std::move(account));
}

void LedgerBook::Merged(uint32_t round, const std::vector<WorkerId>& contributors,
                        const MergeReport& report) {
  std::map<WorkerId, MergedShare>& merged = open_[round].merged;
  for (size_t k = 0; k < contributors.size(); ++k) {
    MergedShare& share = merged[contributors[k]];
    ++share.chunks;
    if (k < report.factors.size() && report.factors[k] < 1) ++share.scaled_chunks;
    if (k < report.cut_shares.size()) share.cut_shares += report.cut_shares[k];
  }
}

void LedgerBook::Restored(uint32_t committed_rounds) {
  newest_ = committed_rounds;
  first_open_ = committed_rounds + 1;
}

void LedgerBook::Report(WorkerId worker, RoundReportMessage report) {
  if (report.round < first_open_) return WorkerAccount(worker, std::move(report.account));
  OpenRound& open = open_[report.round];
  if (std::any_of(open.workers.begin(), open.workers.end(),
                  [&](const WorkerRoundRecord& known) { return known.worker == worker; })) {
    return;
  }
  WorkerRoundRecord record;
  record.round = report.round;
  record.worker = worker;
  record.samples = report.samples;
  record.mean_loss = report.mean_loss;
  record.root_hash = report.root.ToHex();
  record.repaired_chunks = report.repaired_chunks;
  record.upload_bytes = report.upload_bytes;
  record.download_bytes = report.download_bytes;
  open.workers.push_back(record);
  open.loss_sum += report.mean_loss * static_cast<double>(report.samples);
  WorkerAccount(worker, std::move(report.account));
}

void LedgerBook::StoreClocks(const RoundRecord& round,
                             const std::vector<WorkerRoundRecord>& workers) {
  if (!RecordingIsOn()) return;
  for (const WorkerRoundRecord& worker : workers) {
    const ClockBook::RoundEnd end = clocks_.EndRound(worker.worker);
    Check(database_->AddClock(round.round, end.estimate));
    if (!end.still_unknown) continue;
    Event(kClockUnknownEvent, worker.worker,
          "no clock probe of this worker has come: its times can't be set beside others'");
  }
}

RunObserver::RoundLine LedgerBook::EndRound(const RoundExchange& exchange, const Hash128& root,
                                            uint32_t rounds) {
  Sort(recorder_.Take());
  OpenRound open = std::move(open_[exchange.round()]);
  open_.erase(exchange.round());
  first_open_ = exchange.round() + 1;
  taken_.clear();

  RoundRecord record = MakeRecord(exchange, root);
  for (WorkerRoundRecord& worker : open.workers) {
    const MergedShare& share = open.merged[worker.worker];
    worker.scaled_chunks = share.scaled_chunks;
    if (share.chunks > 0) worker.cut_share = share.cut_shares / share.chunks;
  }
  uint64_t reported_samples = 0;
  for (const WorkerRoundRecord& worker : open.workers) reported_samples += worker.samples;
  if (reported_samples > 0)
    record.mean_loss = open.loss_sum / static_cast<double>(reported_samples);
  Span round;  // of each, also where nothing else is recorded: it is known anyway
  round.phase = Phase::kRound;
  round.round = record.round;
  round.begin_ns = record.begin_ns;
  round.end_ns = record.end_ns;
  round.busy_ns = record.end_ns - record.begin_ns;
  open.account.spans.push_back(round);
  const std::vector<Span> spans = open.account.spans;
  open.account.Append(std::exchange(loose_, {}));
  Check(database_->AddRound(record, open.workers, open.account));
  StoreClocks(record, open.workers);

  RunObserver::RoundLine line;
  line.round = record.round;
  line.rounds = rounds;
  line.mean_loss = record.mean_loss;
  line.samples = record.samples;
  line.workers = record.workers;
  line.wall_seconds = static_cast<double>(record.end_ns - record.begin_ns) * 1e-9;
  line.train_seconds = LongestSeconds(spans, Phase::kTrain);
  line.evaluate_seconds = LongestSeconds(spans, Phase::kEvaluate);
  line.exchange_seconds = ShortestExchangeSeconds(spans);
  return line;
}

void LedgerBook::Evaluation(const EvaluationRecord& evaluation) {
  Check(database_->AddEvaluation(evaluation));
}

void LedgerBook::Close() {
  if (recorder_.dropped() > 0) {
    LogWarning("{} spans were dropped: more were recorded in a round than are kept",
               recorder_.dropped());
  }
  Sort(recorder_.Take());
  Account rest = std::exchange(loose_, {});
  for (auto& [round, open] : open_) rest.Append(std::move(open.account));
  open_.clear();
  if (!rest.empty()) Check(database_->AddAccount(rest));
  if (!RecordingIsOn()) return;
  for (const ClockEstimate& estimate : clocks_.Final())
    Check(database_->AddClock(std::nullopt, estimate));
}

}  // namespace interlude
