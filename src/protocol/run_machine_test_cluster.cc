#include "protocol/run_machine_test_cluster.h"

#include <gtest/gtest.h>

#include <numeric>

namespace interlude {
namespace {

uint64_t SamplesOf(WorkerId worker) { return 10 + static_cast<uint64_t>(worker); }

}  // namespace

Cluster::Cluster(const Options& options, uint64_t seed)
    : options_(options), rng_(seed), run_(options.plan), model_(options.plan, options.chunks) {}

bool Cluster::Took(bool expected, const Status& status, const char* what, WorkerId worker,
                   uint32_t round) {
  EXPECT_EQ(status.ok(), expected)
      << what << " of worker " << worker << ", round " << round << ": " << status.ToString();
  if (!status.ok()) ++counts_.refused;
  return status.ok();
}

void Cluster::Join(std::optional<WorkerId> requested) {
  const bool expected = model_.MayJoin(requested);
  const auto joined = run_.machine().Join(requested, run_.Tick());
  if (Took(expected, joined.status(), "join", requested.value_or(-1), 0)) {
    model_.Joined(*joined);
    workers_[*joined].session.push_back({.kind = Kind::kReady});
    if (run_.machine().stage() == RunMachine::Stage::kRounds) ++counts_.late_joins;
  }
  Settle();
}

void Cluster::Ready(WorkerId worker) {
  const bool expected = model_.MayBeReady(worker);
  if (Took(expected, run_.machine().WorkerReady(worker, options_.chunks, run_.Tick()), "ready",
           worker, 0)) {
    model_.Ready(worker);
  }
  Settle();
}

void Cluster::CaughtUp(WorkerId worker, uint32_t round) {
  const bool expected = model_.MayHaveCaughtUp(worker, round);
  if (Took(expected, run_.machine().CaughtUp(worker, round, run_.Tick()), "caught up", worker,
           round)) {
    model_.CaughtUp(worker, round);
  }
  Settle();
}

void Cluster::Base(WorkerId worker) {
  const bool expected = model_.MaySendBase(worker);
  if (Took(expected, run_.machine().BaseReceived(worker, run_.Tick()), "base", worker, 0))
    model_.BaseSent();
  Settle();
}

void Cluster::Begin(WorkerId worker, uint32_t round, uint64_t samples) {
  const bool expected = model_.MayBegin(worker, round, samples);
  if (Took(expected, run_.machine().UploadBegun(worker, round, samples, run_.Tick()), "begin",
           worker, round)) {
    model_.Begun(worker, round, samples);
  }
  Settle();
}

void Cluster::Chunk(WorkerId worker, uint32_t round, uint32_t chunk) {
  const bool expected = model_.MayDeliver(worker, round, chunk);
  const auto fresh = run_.machine().ChunkReceived(worker, round, chunk, run_.Tick());
  if (Took(expected, fresh.status(), "chunk", worker, round)) {
    EXPECT_EQ(*fresh, model_.IsNew(worker, round, chunk));
    if (!*fresh) ++counts_.duplicates;
    model_.Delivered(worker, round, chunk);
    if (run_.machine().committed_rounds() + 1 == round && run_.machine().open_round(round - 1))
      ++counts_.overtaken;
  }
  Settle();
}

void Cluster::Report(WorkerId worker, uint32_t round, const Hash128& root) {
  const bool expected = model_.MayReport(worker, round, root);
  const bool wrong_root = !expected && model_.MayReport(worker, round, RootOf(round));
  const Status status = run_.machine().RoundReported(worker, round, root, run_.Tick());
  if (Took(expected, status, "report", worker, round)) {
    model_.Reported(worker, round);
  } else if (wrong_root) {
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    ++counts_.wrong_roots;
    model_.WrongRoot(worker, round);
    workers_[worker].upload.clear();
    workers_[worker].session = {{.kind = Kind::kLeave}};
  }
  Settle();
}

void Cluster::Evaluate(WorkerId worker, uint32_t after) {
  const bool expected = model_.MayEvaluate(worker, after);
  if (Took(expected, run_.machine().EvaluationReported(worker, after, run_.Tick()), "evaluation",
           worker, after)) {
    model_.Evaluated(worker, after);
  }
  Settle();
}

void Cluster::Leave(WorkerId worker) {
  if (workers_.erase(worker) > 0) ++counts_.left;
  model_.Left(worker);
  run_.machine().WorkerLeft(worker, run_.Tick());
  Settle();
}

void Cluster::Settle() {
  run_.Carry([this](const Action& action) {
    model_.Act(action, run_.machine());
    Obey(action);
  });
  model_.CheckQuiet();
}

void Cluster::Obey(const Action& action) {
  if (const auto* ask = std::get_if<AskForBase>(&action)) {
    workers_.at(ask->worker).upload.push_back({.kind = Kind::kBase});
  } else if (const auto* catch_up = std::get_if<CatchUp>(&action)) {
    Worker& worker = workers_.at(catch_up->worker);
    if (worker.catches_up_from) ++counts_.asked_again;
    worker.catches_up_from = run_.machine().committed_rounds();
    worker.session.push_back({Kind::kCaughtUp, run_.machine().committed_rounds()});
  } else if (const auto* start = std::get_if<StartRound>(&action)) {
    std::vector<uint32_t> order(options_.chunks);
    std::iota(order.begin(), order.end(), 0u);
    for (const auto& [id, worker] : workers_) {
      const bool behind = worker.catches_up_from && !model_.InMembers(id);
      if (behind && *worker.catches_up_from < start->round - 1) ++counts_.rounds_passed;
    }
    for (const WorkerId worker : start->members) {
      if (start->evaluate)
        workers_.at(worker).session.push_back({Kind::kEvaluation, start->round - 1});
      workers_.at(worker).upload.push_back({Kind::kBegin, start->round});
      rng_.Shuffle(std::span(order));
      for (const uint32_t chunk : order)
        workers_.at(worker).upload.push_back({Kind::kChunk, start->round, chunk});
    }
  } else if (const auto* merge = std::get_if<MergeChunk>(&action)) {
    if (merge->order.contributors.size() < options_.plan.workers) ++counts_.merged_without_all;
  } else if (const auto* commit = std::get_if<CommitRound>(&action)) {
    for (const WorkerId worker : run_.machine().open_round(commit->round)->present()) {
      workers_.at(worker).session.push_back({Kind::kReport, commit->round});
    }
  } else if (const auto* finish = std::get_if<Finish>(&action)) {
    for (const WorkerId worker : finish->members) {
      workers_.at(worker).session.push_back({Kind::kEvaluation, options_.plan.rounds});
    }
  } else if (const auto* drop = std::get_if<DropWorker>(&action)) {
    ++counts_.dropped;
    workers_.at(drop->worker).session = {{.kind = Kind::kLeave}};
  }
}

void Cluster::Send(WorkerId worker, const Message& message) {
  switch (message.kind) {
    case Kind::kReady:
      return Ready(worker);
    case Kind::kCaughtUp:
      return CaughtUp(worker, message.round);
    case Kind::kBase:
      return Base(worker);
    case Kind::kBegin:
      return Begin(worker, message.round, SamplesOf(worker));
    case Kind::kChunk:
      return Chunk(worker, message.round, message.chunk);
    case Kind::kReport:
      return Report(worker, message.round, RootOf(message.round));
    case Kind::kEvaluation:
      return Evaluate(worker, message.round);
    case Kind::kLeave:
      return Leave(worker);
  }
}

bool Cluster::CalmStep() {
  if (model_.MayJoin({}) && run_.machine().stage() == RunMachine::Stage::kGathering)
    return Join({}), true;
  std::vector<WorkerId> busy;
  for (const auto& [id, worker] : workers_) {
    if (!worker.session.empty() || !worker.upload.empty()) busy.push_back(id);
  }
  if (busy.empty()) return false;
  const WorkerId id = busy[rng_.Below(busy.size())];
  Worker& worker = workers_[id];
  const bool upload_first = options_.overtaking && !worker.upload.empty() && rng_.Below(2) == 0;
  auto& queue = worker.session.empty() || upload_first ? worker.upload : worker.session;
  const Message message = queue.front();
  // Catching up takes long beside the steps of a round.
  if (message.kind == Kind::kCaughtUp && rng_.Below(20) != 0) return true;
  queue.pop_front();
  Send(id, message);
  return true;
}

/// Something random, most often out of place; the model knows whether it must be taken all the
/// same.
void Cluster::Nonsense() {
  const auto worker = static_cast<WorkerId>(rng_.Below(options_.plan.workers + 2)) - 1;
  const uint32_t recent = run_.machine().committed_rounds();
  const auto round = static_cast<uint32_t>(rng_.Below(3) == 0 ? rng_.Below(options_.plan.rounds + 2)
                                                              : recent + rng_.Below(3));
  const auto chunk = static_cast<uint32_t>(rng_.Below(options_.chunks + 1));
  switch (rng_.Below(9)) {
    case 0:
      return Ready(worker);
    case 1:
      return Base(worker);
    case 2: {
      const bool begun_before = !model_.MayBegin(worker, round, 999);
      return Begin(worker, round, rng_.Below(2) == 0 ? SamplesOf(worker) : begun_before ? 999 : 0);
    }
    case 3:
    case 4:
      return Chunk(worker, round, chunk);
    case 5:
      return Report(worker, round, RootOf(round));
    case 6:
      return Evaluate(worker, round);
    case 7:
      return CaughtUp(worker, round);
    default:
      return Join(worker);
  }
}

void Cluster::ChaoticStep() {
  const uint64_t dice = rng_.Below(200);
  const auto someone = static_cast<WorkerId>(rng_.Below(options_.plan.workers));
  if (dice < 50) {
    Nonsense();
  } else if (dice < 53) {
    Leave(someone);
  } else if (dice < 54) {
    Report(someone, run_.machine().committed_rounds(), RootOf(1000));
  } else if (dice < 60) {
    Join({});
  } else {
    CalmStep();
  }
}

bool Cluster::Drain(int most) {
  for (int i = 0; i < most && !model_.end(); ++i) {
    if (!CalmStep()) return false;
  }
  return model_.end().has_value();
}

}  // namespace interlude
