// The coordinator of the world, and its time. Its workers are in run_machine_test_world_workers.cc.
#include "protocol/run_machine_test_world.h"

#include <gtest/gtest.h>

#include <utility>

#include "protocol/run_machine_test_util.h"

namespace interlude {

World::World(const Options& options, uint64_t seed)
    : options_(options), rng_(seed), machine_(std::make_unique<RunMachine>(options.plan)) {
  for (uint32_t i = 0; i < options.plan.workers; ++i) AddProcess(0);
}

void World::At(double seconds, std::function<void()> what) {
  events_.emplace(std::max(seconds, now_s_), std::move(what));
}

void World::AddProcess(double seconds) {
  processes_.emplace_back();
  At(seconds, [this, process = processes_.size() - 1] { Connect(process); });
}

bool World::RunUntil(double seconds) {
  int idle_ticks = 0;
  while (!end_ && !testing::Test::HasFailure()) {
    const auto deadline = machine_ ? machine_->NextDeadline() : std::nullopt;
    const double deadline_s = deadline ? static_cast<double>(deadline->count()) / 1e9 : 1e300;
    const double event_s = events_.empty() ? 1e300 : events_.begin()->first;
    const double next_s = std::max(now_s_, std::min(deadline_s, event_s));
    if (next_s > seconds) return false;
    now_s_ = next_s;
    if (event_s <= deadline_s) {
      idle_ticks = 0;
      auto event = events_.extract(events_.begin());
      event.mapped()();
    } else {
      ++counts_.ticks;
      // A round thread whose deadline does not pass by being looked at would never sleep again.
      EXPECT_LT(++idle_ticks, 20) << "the deadline stays where it is";
      now_s_ += 1e-6;
    }
    Settle();
  }
  return end_.has_value();
}

void World::Settle() {
  if (!machine_ || end_) return;
  machine_->Tick(Now());
  Carry();
}

void World::Carry() {
  while (machine_) {
    const std::vector<Action> actions = machine_->TakeActions();
    if (actions.empty()) return;
    for (const Action& action : actions) {
      EXPECT_FALSE(end_) << ActionText(action) << " after the end";
      std::visit([this](const auto& specific) { Do(specific); }, action);
    }
  }
}

void World::Tell(WorkerId worker, const Told& told) {
  const auto stay = stays_.find(worker);
  ASSERT_NE(stay, stays_.end()) << "worker " << worker << " is told something and is not there";
  stay->second.told = told;
  const Process& process = processes_[stay->second.process];
  if (process.connected && process.token == stay->second.token) Obey(stay->second.process, told);
}

void World::Do(const AskForBase& action) {
  ASSERT_TRUE(stays_.contains(action.worker));
  Later(stays_.at(action.worker).process, 0.5, [this, worker = action.worker] {
    if (!machine_ || !machine_->BaseReceived(worker, Now()).ok()) return;
    journal_.base = true;
  });
}

void World::Do(const CatchUp& action) {
  Tell(action.worker, {.order = Order::kCatchUp, .round = 0, .evaluate = false});
}

void World::Do(const StartRound& action) {
  EXPECT_EQ(action.round, journal_.committed + 1);
  auto& members = journal_.members[action.round];
  for (const WorkerId worker : action.members) {
    ASSERT_TRUE(stays_.contains(worker)) << "worker " << worker << " is a member and is not there";
    members[worker].token = stays_.at(worker).token;
    members[worker].process = stays_.at(worker).process;
    Tell(worker, {.order = Order::kRound, .round = action.round, .evaluate = action.evaluate});
  }
}

void World::Do(const MergeChunk& action) {
  const MergeOrder& order = action.order;
  EXPECT_EQ(order.round, journal_.committed + 1);
  EXPECT_TRUE(journal_.orders[order.round].emplace(order.chunk, order).second)
      << "ordered twice: " << ActionText(action);
  for (const Contributor& contributor : order.contributors) {
    EXPECT_TRUE(journal_.members.at(order.round).contains(contributor.worker));
  }
  At(now_s_ + Some(0.01, 0.1), [this, order, epoch = epoch_] {
    if (epoch == epoch_ && machine_) machine_->ChunkMerged(order.round, order.chunk, Now());
  });
}

void World::Do(const SendSyncChunk& action) {
  EXPECT_TRUE(journal_.orders[action.round].contains(action.chunk));
  EXPECT_EQ(++sent_[std::pair(action.round, action.chunk)], 1) << ActionText(action);
}

void World::Do(const CommitRound& action) {
  EXPECT_EQ(action.round, journal_.committed + 1);
  EXPECT_EQ(journal_.orders[action.round].size(), options_.chunks);
  journal_.committed = action.round;
  machine_->RoundCommitted(action.round, RootOf(action.round), Now());
}

void World::Do(const EndRound& action) {
  const RoundExchange* exchange = machine_->open_round(action.round);
  ASSERT_NE(exchange, nullptr);
  const RoundTimes& times = exchange->times();
  EXPECT_LE(times.begin, times.end) << "round " << action.round;
  EXPECT_LE(times.committed, times.end) << "round " << action.round;
  EXPECT_LE(times.last_delta, times.committed) << "round " << action.round;
}

void World::Do(const Finish& action) {
  for (const WorkerId worker : action.members)
    Tell(worker, {.order = Order::kFinish, .round = journal_.committed, .evaluate = false});
}

void World::Do(const DropWorker& action) {
  ++counts_.dropped;
  Remove(action.worker);
}

void World::Do(const MemberLate& action) {
  ++counts_.late;
  EXPECT_LE(action.chunks_missing, options_.chunks);
  reasons_.push_back(action.reason);
}

void World::Do(const AwaitWorkers& action) {
  ++counts_.awaits;
  reasons_.push_back(action.reason);
}

void World::Do(const EndRun& action) { end_ = action.status; }

void World::Remove(WorkerId worker) {
  const auto stay = stays_.find(worker);
  if (stay == stays_.end()) return;
  const size_t index = stay->second.process;
  const bool its_own = processes_[index].token == stay->second.token;
  stays_.erase(stay);
  if (its_own && processes_[index].connected) {  // it is told so, and joins anew
    Lose(index);
    At(now_s_ + Some(0.2, 2), [this, index] { Connect(index); });
  }
  machine_->WorkerLeft(worker, Now());
}

void World::KillCoordinator(double down_s, double spread_s) {
  ++counts_.crashes;
  ++epoch_;
  machine_.reset();
  stays_.clear();
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (!std::exchange(processes_[i].connected, false)) continue;
    At(now_s_ + down_s + Some(0, spread_s), [this, i] { Connect(i); });
  }
  At(now_s_ + down_s, [this] { StartAgain(); });
}

void World::StartAgain() {
  if (machine_) return;
  machine_ = std::make_unique<RunMachine>(options_.plan);
  if (!journal_.base) return;
  RestoredRun run{.num_chunks = options_.chunks,
                  .committed_rounds = journal_.committed,
                  .committed_root = RootOf(journal_.committed),
                  .open = {}};
  const uint32_t round = journal_.committed + 1;
  if (const auto members = journal_.members.find(round); members != journal_.members.end()) {
    run.open.emplace();
    for (const auto& [worker, member] : members->second) {
      run.open->members.push_back(
          {.worker = worker, .samples = member.samples, .arrived = member.arrived});
      stays_[worker] = {.process = member.process,
                        .token = member.token,
                        .told = {.order = Order::kRound, .round = round, .evaluate = false}};
    }
    for (const auto& [chunk, order] : journal_.orders[round]) {
      run.open->orders.push_back(order);
      sent_[std::pair(round, chunk)] = 1;  // the real one puts them on its board
    }
  }
  machine_->Restore(run, Now(),
                    Nanoseconds(static_cast<int64_t>(options_.return_patience_s * 1e9)));
  Settle();
}

std::vector<MergeOrder> World::Orders() const {
  std::vector<MergeOrder> all;
  for (const auto& [round, orders] : journal_.orders) {
    for (const auto& [chunk, order] : orders) all.push_back(order);
  }
  return all;
}

}  // namespace interlude
