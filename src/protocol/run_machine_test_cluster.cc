#include "protocol/run_machine_test_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  if (options_.honest && !status.ok() && what != std::string_view("join")) {
    EXPECT_TRUE(status.code() == StatusCode::kAborted || status.code() == StatusCode::kUnavailable)
        << what << " of worker " << worker << ", round " << round << ": " << status.ToString();
  }
  return status.ok();
}

void Cluster::Join(std::optional<WorkerId> requested) {
  if (const auto replaced = run_.machine().ReplacedBy(requested)) {
    EXPECT_TRUE(model_.IsAway(*replaced));
    ++counts_.replaced;
    Leave(*replaced);
  }
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
    journal_[round].members[worker].samples = samples;
  }
  Settle();
}

void Cluster::Chunk(WorkerId worker, uint32_t round, uint32_t chunk) {
  const bool expected = model_.MayDeliver(worker, round, chunk);
  const auto fresh = run_.machine().ChunkReceived(worker, round, chunk, run_.Tick());
  if (Took(expected, fresh.status(), "chunk", worker, round)) {
    EXPECT_EQ(*fresh, model_.IsNew(worker, round, chunk));
    if (!*fresh) ++counts_.duplicates;
    if (*fresh) model_.Delivered(worker, round, chunk);
    if (*fresh) journal_[round].members[worker].arrived.push_back(chunk);
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
    return Leave(worker);
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

void Cluster::Lose(WorkerId worker, bool comes_back) {
  if (!workers_.contains(worker) || workers_[worker].away) return;
  ++counts_.lost;
  model_.Lost(worker, run_.now() + Nanoseconds(1));
  run_.machine().WorkerLost(worker, run_.Tick());
  EXPECT_EQ(run_.machine().is_away(worker), model_.IsAway(worker));
  if (model_.IsAway(worker)) {
    workers_[worker].away = true;
    workers_[worker].comes_back = comes_back;
  } else {
    workers_.erase(worker);
  }
  Settle();
}

void Cluster::Return(WorkerId worker) {
  const bool expected = model_.IsAway(worker) && !model_.end();
  if (expected) model_.Returned(worker, run_.now() + Nanoseconds(1));
  const Status status = run_.machine().WorkerReturned(worker, run_.Tick());
  EXPECT_EQ(status.ok(), expected) << status.ToString();
  if (expected) {
    workers_[worker].away = false;
    ++counts_.returned;
  }
  Settle();
}

/// As in the coordinator, time is looked at after each event.
void Cluster::Pass(Nanoseconds time) {
  run_.Pass(time);
  Settle();
}

void Cluster::Settle() {
  CarryOut();
  bool overdue = true;
  while (overdue && !crashed()) {
    model_.CheckQuiet();
    const auto next = run_.machine().NextDeadline();
    overdue = next && *next <= run_.now();
    run_.machine().Tick(run_.now());
    const bool something = CarryOut();
    if (crashed()) break;
    EXPECT_EQ(something, overdue) << "Tick has nothing to do where it says so, or has where not";
    if (overdue && !something) break;  // else for ever
  }
  if (crashed()) return StartAgain();
  model_.CheckQuiet();
  model_.CheckOnTime(run_.now());
}

bool Cluster::CarryOut() {
  const auto texts = run_.Carry([this](const Action& action) {
    if (crash_after_ && (*crash_after_)-- <= 0) return false;
    Watch(action);
    return true;
  });
  return !texts.empty();
}

bool Cluster::Crash(int actions) {
  if (model_.end() || journal_.empty()) return false;
  crash_after_ = actions;
  return true;
}

void Cluster::StartAgain() {
  crash_after_.reset();
  if (model_.end()) return;
  ++counts_.crashed;
  RestoredRun run{.num_chunks = options_.chunks,
                  .committed_rounds = committed_,
                  .committed_root = RootOf(committed_),
                  .open = std::nullopt};
  if (const auto open = journal_.find(committed_ + 1); open != journal_.end()) {
    run.open.emplace();
    run.open->orders = open->second.orders;
    for (const auto& [worker, member] : open->second.members) run.open->members.push_back(member);
  }
  model_.Restored(run, run_.now() + Nanoseconds(1), options_.return_patience);
  for (auto it = workers_.begin(); it != workers_.end();) {
    Worker& worker = it->second;
    // Not one of its id, which came after it had left.
    const bool stays = model_.InMembers(it->first) && worker.round == committed_ + 1;
    if (stays && worker.out_of_round) {  // it is told once more to begin the round
      worker.session.clear();
      const std::vector<Message> delta = Delta(committed_ + 1);
      worker.upload = {delta.begin(), delta.end()};
      worker.out_of_round = false;
    }
    if (stays && !worker.away) worker.comes_back = true;
    if (stays) worker.away = true;
    if (!stays && (!worker.away || worker.comes_back)) ++rejoining_;
    it = stays ? std::next(it) : workers_.erase(it);
  }
  run_.Restore(run, options_.return_patience);
  Settle();
}

void Cluster::Watch(const Action& action) {
  model_.Act(action, run_.machine(), run_.now());
  if (const auto* start = std::get_if<StartRound>(&action)) {
    for (const WorkerId w : start->members) journal_[start->round].members[w].worker = w;
  } else if (const auto* merge = std::get_if<MergeChunk>(&action)) {
    const MergeOrder& order = merge->order;
    journal_[order.round].orders.push_back(order);
    EXPECT_TRUE(merges_.try_emplace({order.round, order.chunk}, order.contributors).second);
  } else if (const auto* commit = std::get_if<CommitRound>(&action)) {
    committed_ = commit->round;
  }
  Obey(action);
}

std::vector<Cluster::Message> Cluster::Delta(uint32_t round) {
  std::vector<uint32_t> order(options_.chunks);
  std::iota(order.begin(), order.end(), 0u);
  rng_.Shuffle(std::span(order));
  std::vector<Message> messages = {{Kind::kBegin, round}};
  for (const uint32_t chunk : order) messages.push_back({Kind::kChunk, round, chunk});
  return messages;
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
    for (const auto& [id, worker] : workers_) {
      const bool behind = worker.catches_up_from && !model_.InMembers(id);
      if (behind && *worker.catches_up_from < start->round - 1) ++counts_.rounds_passed;
    }
    for (const WorkerId id : start->members) {
      if (!workers_.contains(id)) continue;  // it left, and the coordinator has lost that
      Worker& worker = workers_.at(id);
      worker.out_of_round = false;
      worker.round = start->round;
      if (start->evaluate) worker.session.push_back({Kind::kEvaluation, start->round - 1});
      for (const Message& message : Delta(start->round)) worker.upload.push_back(message);
    }
  } else if (const auto* merge = std::get_if<MergeChunk>(&action)) {
    if (merge->order.contributors.size() < options_.plan.workers) ++counts_.merged_without_all;
    if (merge->order.contributors.empty()) ++counts_.merged_of_none;
  } else if (const auto* commit = std::get_if<CommitRound>(&action)) {
    for (const WorkerId worker : run_.machine().open_round(commit->round)->present()) {
      if (workers_.contains(worker))
        workers_.at(worker).session.push_back({Kind::kReport, commit->round});
    }
  } else if (const auto* finish = std::get_if<Finish>(&action)) {
    for (const WorkerId worker : finish->members) {
      if (workers_.contains(worker))
        workers_.at(worker).session.push_back({Kind::kEvaluation, options_.plan.rounds});
    }
  } else if (const auto* late = std::get_if<MemberLate>(&action)) {
    ++counts_.late;
    // What is on its way still comes, or does not.
    if (const auto it = workers_.find(late->worker); it != workers_.end()) {
      it->second.out_of_round = true;
      if (rng_.Below(2) == 0) it->second.upload.clear();
    }
  } else if (std::holds_alternative<AwaitWorkers>(action)) {
    ++counts_.waited;
  } else if (const auto* drop = std::get_if<DropWorker>(&action)) {
    ++counts_.dropped;
    workers_.erase(drop->worker);
    model_.Left(drop->worker);
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
  }
}

bool Cluster::CalmStep() {
  const bool gathering = run_.machine().stage() == RunMachine::Stage::kGathering;
  if (model_.MayJoin({}) && (gathering || rejoining_ > 0)) {
    rejoining_ = std::max(0, rejoining_ - 1);
    return Join({}), true;
  }
  std::vector<WorkerId> busy;
  for (const auto& [id, worker] : workers_) {
    if (worker.hung || (worker.away && !worker.comes_back)) continue;
    if (worker.away || !worker.session.empty() || !worker.upload.empty()) busy.push_back(id);
  }
  if (busy.empty()) return false;
  const WorkerId id = busy[rng_.Below(busy.size())];
  Worker& worker = workers_[id];
  if (worker.away) return Return(id), true;
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

/// What honest workers meet.
void Cluster::Trouble() {
  const auto someone = static_cast<WorkerId>(rng_.Below(options_.plan.workers));
  switch (rng_.Below(options_.crashes ? 7 : 6)) {
    case 6:
      Crash(static_cast<int>(rng_.Below(8)));
      return;
    case 0:
      return Lose(someone, rng_.Below(3) != 0);
    case 1:
      if (workers_.contains(someone)) Hang(someone);
      return;
    case 2:
      if (workers_.contains(someone)) WakeUp(someone);
      return;
    case 3:
      return Pass(Nanoseconds(static_cast<int64_t>(rng_.Below(6'000'000'000))));
    default:
      if (const auto next = run_.machine().NextDeadline()) Pass(*next - run_.now());
  }
}

void Cluster::ChaoticStep() {
  const uint64_t dice = rng_.Below(200);
  const auto someone = static_cast<WorkerId>(rng_.Below(options_.plan.workers));
  if (dice < 50 && !options_.honest) {
    Nonsense();
  } else if (dice < 53) {
    if (workers_.contains(someone)) Leave(someone);
  } else if (dice < 54 && !options_.honest) {
    Report(someone, run_.machine().committed_rounds(), RootOf(1000));
  } else if (dice < 60) {
    if (!options_.honest || model_.MayJoin({})) Join({});
  } else if (dice < (options_.honest ? 90 : 70)) {
    Trouble();
  } else {
    CalmStep();
  }
}

std::string Cluster::Text() const {
  std::string text = fmt::format("{} of {} rounds committed, {}", run_.machine().committed_rounds(),
                                 options_.plan.rounds, StageName(run_.machine().stage()));
  for (uint32_t i = 0; i < options_.plan.workers; ++i) {
    const auto w = static_cast<WorkerId>(i);
    const auto stage = run_.machine().membership().stage(w);
    text += fmt::format("; worker {}: ", w);
    if (stage)
      text += fmt::format("stage {}{}", static_cast<int>(*stage),
                          run_.machine().is_away(w) ? ", away" : "");
    if (const auto worker = workers_.find(w); worker != workers_.end()) {
      text += fmt::format(", has {} + {} to say{}{}", worker->second.session.size(),
                          worker->second.upload.size(), worker->second.hung ? ", hung" : "",
                          worker->second.comes_back ? "" : ", does not come back");
    }
  }
  return text;
}

bool Cluster::Drain(int most) {
  for (int i = 0; i < most && !model_.end(); ++i) {
    if (CalmStep()) continue;
    if (const auto next = run_.machine().NextDeadline()) {
      Pass(*next - run_.now());
    } else if (const auto hung = std::ranges::find_if(
                   workers_, [](const auto& worker) { return worker.second.hung; });
               hung != workers_.end()) {
      WakeUp(hung->first);
    } else if (model_.MayJoin({}) || run_.machine().ReplacedBy({})) {
      Join({});
    } else {
      return false;
    }
  }
  return model_.end().has_value();
}

}  // namespace interlude
