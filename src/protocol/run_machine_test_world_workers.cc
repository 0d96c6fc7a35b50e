// The workers of the world.
#include <gtest/gtest.h>

#include <utility>

#include "protocol/run_machine_test_util.h"
#include "protocol/run_machine_test_world.h"

namespace interlude {

/// Unless the process has dropped meanwhile what this is a part of. One that hangs goes on later.
void World::Later(size_t process, double after_s, std::function<void()> what) {
  const uint64_t life = processes_[process].life;
  At(now_s_ + after_s * processes_[process].slow, [this, process, life, what = std::move(what)] {
    const Process& it = processes_[process];
    if (!it.alive || it.life != life) return;
    if (now_s_ < it.hung_until_s) return Later(process, it.hung_until_s - now_s_ + 0.01, what);
    what();
  });
}

bool World::IsCurrent(const Process& process) const {
  if (!machine_ || !process.id) return false;
  const auto stay = stays_.find(*process.id);
  return stay != stays_.end() && stay->second.token == process.token;
}

void World::Connect(size_t process) {
  Process& it = processes_[process];
  if (!it.alive || it.connected || end_) return;
  if (!machine_) return At(now_s_ + 0.5, [this, process] { Connect(process); });
  if (IsCurrent(it) && machine_->is_away(*it.id) && machine_->WorkerReturned(*it.id, Now()).ok()) {
    ++counts_.returned;
    it.connected = true;
    const Told told = stays_.at(*it.id).told;
    const auto unsaid = std::exchange(it.unsaid, {});
    if (it.round > 0 && !it.unreported && rng_.Below(2) == 0) {  // what it said may have been lost
      Say(process, [this, id = *it.id, round = it.round] {
        return machine_->RoundReported(id, round, RootOf(round), Now());
      });
    }
    for (const auto& what : unsaid) Say(process, what);
    if (it.connected) Obey(process, told);
    return;
  }
  JoinAnew(process);
}

void World::JoinAnew(size_t process) {
  Process& it = processes_[process];
  ++it.life;
  it.unsaid.clear();
  it.round = 0;
  it.unreported = it.finishing = false;
  it.next.reset();
  const std::optional<WorkerId> requested = rng_.Below(2) == 0 ? it.id : std::nullopt;
  if (const auto replaced = machine_->ReplacedBy(requested)) Remove(*replaced);
  const StatusOr<WorkerId> joined = machine_->Join(requested, Now());
  if (!joined.ok()) {
    it.id.reset();
    const bool finishing = joined.status().code() == StatusCode::kUnavailable;
    return Later(process, finishing ? 20 : 1, [this, process] { Connect(process); });
  }
  ++counts_.joined;
  it.id = *joined;
  it.token = ++last_token_;
  it.connected = true;
  stays_[*joined] = {.process = process, .token = it.token, .told = {}};
  Later(process, Some(0.2, 2), [this, process] {
    Say(process, [this, id = *processes_[process].id] {
      return machine_->WorkerReady(id, options_.chunks, Now());
    });
  });
}

/// The process no longer has a connection; what it does is dropped when it must join anew.
void World::Lose(size_t process) { processes_[process].connected = false; }

void World::BreakConnection(size_t process, double back_after_s) {
  Process& it = processes_[process];
  if (!it.connected) return;
  Lose(process);
  if (IsCurrent(it)) {
    machine_->WorkerLost(*it.id, Now());
    if (!machine_->is_away(*it.id)) Remove(*it.id);
  }
  At(now_s_ + back_after_s, [this, process] { Connect(process); });
}

void World::Kill(size_t process, double restart_after_s) {
  Process& it = processes_[process];
  if (!it.alive) return;
  BreakConnection(process, restart_after_s);
  ++it.life;
  it.token = 0;  // it remembers nothing
  it.hung_until_s = 0;
  it.unsaid.clear();
}

void World::Say(size_t process, std::function<Status()> what) {
  Process& it = processes_[process];
  if (!it.connected || !IsCurrent(it)) {
    it.unsaid.push_back(std::move(what));
    return;
  }
  Took(what(), "a message", process);
}

/// An honest worker may be too late, but is never wrong.
void World::Took(const Status& status, std::string_view what, size_t process) {
  if (status.ok()) return Carry();
  const Process& it = processes_[process];
  if (status.code() == StatusCode::kAborted) {
    ++counts_.too_late;
    return;
  }
  ++counts_.refused;
  EXPECT_TRUE(machine_->stage() == RunMachine::Stage::kFinishing &&
              status.code() == StatusCode::kUnavailable)
      << what << " of process " << process << " (worker " << it.id.value_or(-1) << ", round "
      << it.round << ") at " << now_s_ << " s: " << status.ToString();
  Remove(*it.id);
}

void World::Obey(size_t process, const Told& told) {
  Process& it = processes_[process];
  switch (told.order) {
    case Order::kNothing:
      return;
    case Order::kCatchUp:
      if (it.unreported && rng_.Below(2) == 0) Stray(process);
      ++it.life;
      it.unreported = it.finishing = false;
      it.next.reset();
      return Later(process, Some(0.1, 3), [this, process] {
        Say(process, [this, id = *processes_[process].id] {
          return machine_->CaughtUp(id, journal_.committed, Now());
        });
      });
    case Order::kRound:
      if (told.round <= it.round) return;  // told again
      if (it.unreported) {
        it.next = told;
        return;
      }
      return BeginRound(process, told);
    case Order::kFinish:
      if (it.unreported) {
        it.next = told;
        return;
      }
      if (std::exchange(it.finishing, true)) return;  // told again
      ++it.life;
      return Later(process, Some(1, 2), [this, process] {
        Say(process, [this, id = *processes_[process].id] {
          return machine_->EvaluationReported(id, options_.plan.rounds, Now());
        });
      });
  }
}

/// A chunk that was on its way when the worker was told to stop.
void World::Stray(size_t process) {
  At(now_s_ + 0.05, [this, process, round = processes_[process].round] {
    const Process& it = processes_[process];
    const auto samples = 10 + static_cast<uint64_t>(it.id.value_or(0));
    if (!it.connected || !IsCurrent(it)) return;
    Status status = machine_->UploadBegun(*it.id, round, samples, Now());
    if (status.ok()) {
      journal_.members[round][*it.id].samples = samples;
      journal_.members[round][*it.id].arrived.push_back(0);
      status = machine_->ChunkReceived(*it.id, round, 0, Now()).status();
    }
    Took(status, "a late chunk", process);
  });
}

void World::BeginRound(size_t process, const Told& told) {
  Process& it = processes_[process];
  ++it.life;
  it.round = told.round;
  it.unreported = true;
  it.next.reset();
  if (told.evaluate) {
    Later(process, 0.5, [this, process, after = told.round - 1] {
      Say(process, [this, id = *processes_[process].id, after] {
        return machine_->EvaluationReported(id, after, Now());
      });
    });
  }
  Later(process, options_.train_s * Some(0.8, 1.2),
        [this, process, round = told.round] { Upload(process, round, 0); });
}

void World::Upload(size_t process, uint32_t round, uint32_t chunk) {
  Process& it = processes_[process];
  const bool may = it.connected || (options_.uploads_outlive_sessions && rng_.Below(3) > 0);
  if (!may || !IsCurrent(it)) {
    return Later(process, 0.3, [this, process, round, chunk] { Upload(process, round, chunk); });
  }
  auto& members = journal_.members[round];
  const auto samples = 10 + static_cast<uint64_t>(*it.id);
  Status status = machine_->UploadBegun(*it.id, round, samples, Now());
  if (status.ok()) {
    members[*it.id].samples = samples;
    // The journal has a chunk before the machine hears of it.
    if (rng_.Below(8) != 0) {
      members[*it.id].arrived.push_back(chunk);
      status = machine_->ChunkReceived(*it.id, round, chunk, Now()).status();
    } else {  // once more from its beginning
      return Later(process, 0.1, [this, process, round, chunk] { Upload(process, round, chunk); });
    }
  }
  const uint64_t life = it.life;
  Took(status, "an upload", process);
  if (!status.ok() || it.life != life) return;
  if (chunk + 1 < options_.chunks) {
    return Later(process, Some(0.05, 0.5),
                 [this, process, round, chunk] { Upload(process, round, chunk + 1); });
  }
  AwaitSync(process, round);
}

void World::AwaitSync(size_t process, uint32_t round) {
  if (processes_[process].connected && journal_.committed >= round) {
    return Later(process, Some(0.2, 1), [this, process, round] { Report(process, round); });
  }
  Later(process, 0.2, [this, process, round] { AwaitSync(process, round); });
}

void World::Report(size_t process, uint32_t round) {
  Process& it = processes_[process];
  it.unreported = false;
  const auto next = std::exchange(it.next, {});
  Say(process, [this, id = *it.id, round] {
    return machine_->RoundReported(id, round, RootOf(round), Now());
  });
  if (next && !it.unreported) Obey(process, *next);
}

}  // namespace interlude
