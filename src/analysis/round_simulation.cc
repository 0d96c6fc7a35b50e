#include "analysis/round_simulation.h"

#include <algorithm>
#include <random>

namespace interlude {
namespace {

constexpr int64_t kHandOver = 5 * kMicro;  // from one thread to another

class Simulation {
 public:
  Simulation(const SimulationPlan& plan, uint32_t round, const SimulationState& state)
      : plan_(plan), round_(round), state_(state), up_(plan.workers.size()) {}

  SimulatedRound Run();

 private:
  using Times = std::vector<ChunkStamp>;  // by chunk
  struct Up {
    Times encodes, uploads, receives;
    std::vector<int64_t> threads;  // when each is free
    int64_t asked = 0;             // when the call for the sync delta has come
  };

  int64_t Noisy(int64_t ns, double factor, int what, int32_t worker, uint32_t chunk) const;
  static void Work(std::vector<int64_t>& threads, int64_t ready, int64_t took, ChunkStamp& stamp);
  Times OverLink(const Times& sent, int32_t worker, int what) const;
  int64_t BeginWorker(int32_t worker);
  void GoUp(int32_t worker);
  Times Merge();
  Times Post(const Times& merges);
  int64_t GoDown(int32_t worker, const Times& posts);
  int64_t OnClock(int64_t ns, int32_t worker) const;
  void AddSpan(Phase phase, int32_t worker, int64_t begin, int64_t end);
  void AddStamps(Phase phase, int32_t worker, Times times);
  void AddClock(int32_t worker);

  const SimulationPlan& plan_;
  const uint32_t round_;
  const SimulationState& state_;
  std::vector<Up> up_;
  SimulatedRound out_;
};

int64_t Simulation::Noisy(int64_t ns, double factor, int what, int32_t worker,
                          uint32_t chunk) const {
  std::seed_seq seed{static_cast<uint32_t>(plan_.seed), round_, static_cast<uint32_t>(what),
                     static_cast<uint32_t>(worker), chunk};
  uint32_t drawn[2];
  seed.generate(drawn, drawn + 2);
  const double unit = static_cast<double>(drawn[0]) / 4294967296.0 * 2 - 1;
  return static_cast<int64_t>(static_cast<double>(ns) * factor * (1 + plan_.noise * unit));
}

void Simulation::Work(std::vector<int64_t>& threads, int64_t ready, int64_t took,
                      ChunkStamp& stamp) {
  int64_t& free = *std::min_element(threads.begin(), threads.end());
  stamp.begin_ns = std::max(ready, free) + kHandOver;
  stamp.end_ns = stamp.begin_ns + took;
  free = stamp.end_ns;
}

/// One stream: a chunk is on the link once the one before has left it.
Simulation::Times Simulation::OverLink(const Times& sent, int32_t worker, int what) const {
  const SimulatedWorker& one = plan_.workers[static_cast<size_t>(worker)];
  Times received;
  int64_t link_free = 0;
  int64_t before = 0;
  for (const ChunkStamp& chunk : sent) {
    link_free = std::max(chunk.end_ns, link_free) +
                Noisy(plan_.link_ns, one.link, what, worker, chunk.chunk);
    const int64_t end = link_free + one.latency_ns;
    received.push_back(
        {chunk.chunk, std::min(end, std::max(chunk.begin_ns + one.latency_ns, before)), end});
    before = end;
  }
  return received;
}

int64_t Simulation::BeginWorker(int32_t worker) {
  const auto w = static_cast<size_t>(worker);
  const SimulatedWorker& one = plan_.workers[w];
  const int64_t told = state_.start_ns + 20 * kMicro * (worker + 1);
  AddSpan(Phase::kStart, worker, state_.start_ns, told);
  if (worker == 0 && state_.start_ns > state_.begin_ns)
    AddSpan(Phase::kLedger, kNoWorker, state_.begin_ns, state_.start_ns - kHandOver / 2);
  const int64_t free = state_.free_since[w];
  const int64_t heard = std::max(free, told + one.latency_ns) + kHandOver;
  AddSpan(Phase::kAwaitRound, worker, free, heard);
  int64_t at = heard + kHandOver;
  if (plan_.evaluate) {
    const int64_t scored = at + Noisy(plan_.train_ns / 8, 1, 1, worker, 0);
    AddSpan(Phase::kEvaluate, worker, at, scored);
    at = scored + kHandOver;
  }
  const int64_t trained = at + Noisy(plan_.train_ns, one.train, 2, worker, 0);
  AddSpan(Phase::kTrain, worker, at, trained);
  return trained;
}

void Simulation::GoUp(int32_t worker) {
  const SimulatedWorker& one = plan_.workers[static_cast<size_t>(worker)];
  Up& up = up_[static_cast<size_t>(worker)];
  const int64_t trained = BeginWorker(worker);
  up.threads.assign(static_cast<size_t>(one.threads), trained);
  int64_t all_encoded = 0;
  for (uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
    ChunkStamp& stamp = up.encodes.emplace_back(ChunkStamp{.chunk = chunk});
    Work(up.threads, trained, Noisy(plan_.encode_ns, one.encode, 3, worker, chunk), stamp);
    all_encoded = std::max(all_encoded, stamp.end_ns);
  }
  const int64_t opened = (plan_.barrier ? all_encoded : trained) + 2 * kHandOver;
  AddSpan(Phase::kCall, worker, opened - kHandOver, opened);
  std::vector<int64_t> uploader = {opened};
  for (const ChunkStamp& encode : up.encodes) {
    ChunkStamp& stamp = up.uploads.emplace_back(ChunkStamp{.chunk = encode.chunk});
    Work(uploader, plan_.barrier ? all_encoded : encode.end_ns,
         Noisy(plan_.upload_ns, one.upload, 4, worker, encode.chunk), stamp);
  }
  up.receives = OverLink(up.uploads, worker, 5);
  up.asked = (plan_.barrier ? up.uploads.back().end_ns : trained) + one.latency_ns + kHandOver;
  AddSpan(Phase::kAsk, worker, up.asked, up.asked);
  AddStamps(Phase::kEncode, worker, up.encodes);
  AddStamps(Phase::kUpload, worker, up.uploads);
  AddStamps(Phase::kReceive, worker, up.receives);
}

/// The lowest chunk that is ready goes first, as the coordinator orders them.
Simulation::Times Simulation::Merge() {
  std::vector<std::pair<int64_t, uint32_t>> ready;
  int64_t all = 0;
  for (uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
    int64_t come = state_.begin_ns;
    for (const Up& up : up_) come = std::max(come, up.receives[chunk].end_ns);
    ready.emplace_back(come + kHandOver, chunk);
    all = std::max(all, ready.back().first);
  }
  std::sort(ready.begin(), ready.end());
  Times merges(plan_.chunks), decisions;
  std::vector<int64_t> threads(static_cast<size_t>(plan_.merge_threads), state_.begin_ns);
  for (const auto& [come, chunk] : ready) {
    merges[chunk].chunk = chunk;
    const int64_t taken = plan_.barrier ? all : come;
    decisions.push_back({chunk, taken, taken + kHandOver});
    Work(threads, taken + kHandOver, Noisy(plan_.merge_ns, 1, 6, kNoWorker, chunk), merges[chunk]);
  }
  AddStamps(Phase::kDecide, kNoWorker, std::move(decisions));
  return merges;
}

/// When each chunk is there to be sent.
Simulation::Times Simulation::Post(const Times& merges) {
  int64_t all_merged = 0;
  for (const ChunkStamp& merge : merges) all_merged = std::max(all_merged, merge.end_ns);
  Times posts;
  for (const ChunkStamp& merge : merges) {
    const int64_t taken = (plan_.barrier ? all_merged : merge.end_ns) + kHandOver;
    posts.push_back({merge.chunk, taken, taken + kHandOver});
  }
  AddStamps(Phase::kDecide, kNoWorker, posts);
  return posts;
}

/// When the report has come.
int64_t Simulation::GoDown(int32_t worker, const Times& posts) {
  const SimulatedWorker& one = plan_.workers[static_cast<size_t>(worker)];
  Up& up = up_[static_cast<size_t>(worker)];
  Times sends, applies;
  std::vector<int64_t> sender = {up.asked};
  for (const ChunkStamp& post : posts) {
    ChunkStamp& stamp = sends.emplace_back(ChunkStamp{.chunk = post.chunk});
    Work(sender, post.end_ns, Noisy(plan_.upload_ns / 4, 1, 7, worker, post.chunk), stamp);
  }
  const Times downloads = OverLink(sends, worker, 8);
  const int64_t closed = downloads.back().end_ns + 3 * kHandOver;
  AddSpan(Phase::kCall, worker, downloads.back().end_ns + kHandOver, closed);
  int64_t done = std::max(up.uploads.back().end_ns, closed);
  for (const ChunkStamp& download : downloads) {
    ChunkStamp& stamp = applies.emplace_back(ChunkStamp{.chunk = download.chunk});
    Work(up.threads, plan_.barrier ? closed : download.end_ns,
         Noisy(plan_.apply_ns, one.apply, 9, worker, download.chunk), stamp);
    done = std::max(done, stamp.end_ns);
  }
  const int64_t verify = done + kHandOver;
  const int64_t verified = verify + Noisy(kMilli, 1, 10, worker, 0);
  AddStamps(Phase::kSend, worker, sends);
  AddStamps(Phase::kDownload, worker, downloads);
  AddStamps(Phase::kApply, worker, applies);
  AddSpan(Phase::kVerify, worker, verify, verified);
  out_.next.free_since.push_back(verified);
  const int64_t reported = verified + one.latency_ns + kHandOver;
  AddSpan(Phase::kReport, worker, reported, reported);
  return reported;
}

int64_t Simulation::OnClock(int64_t ns, int32_t worker) const {
  const SimulatedWorker& one = plan_.workers[static_cast<size_t>(worker)];
  const auto fast = static_cast<int64_t>(one.drift * static_cast<double>(ns));
  return ns - one.clock_offset_ns - fast;
}

void Simulation::AddSpan(Phase phase, int32_t worker, int64_t begin, int64_t end) {
  Span span{.phase = phase, .round = round_, .begin_ns = begin, .end_ns = end};
  if (IsWorkerPhase(phase)) {
    span.recorded_by = worker;
    span.begin_ns = OnClock(begin, worker);
    span.end_ns = OnClock(end, worker);
  } else {
    span.about_worker = worker;
  }
  out_.spans.push_back(span);
}

/// With the span that goes with them; whole microseconds, as they are stored.
void Simulation::AddStamps(Phase phase, int32_t worker, Times times) {
  AddSpan(phase, worker, times.front().begin_ns, times.front().end_ns);
  ChunkStamps stamps{.phase = phase, .round = round_};
  (IsWorkerPhase(phase) ? stamps.recorded_by : stamps.about_worker) = worker;
  for (ChunkStamp& stamp : times) {
    if (IsWorkerPhase(phase)) {
      stamp.begin_ns = OnClock(stamp.begin_ns, worker);
      stamp.end_ns = OnClock(stamp.end_ns, worker);
    }
    out_.spans.back().end_ns = std::max(out_.spans.back().end_ns, stamp.end_ns);
    stamp.begin_ns -= stamp.begin_ns % kMicro;
    stamp.end_ns -= stamp.end_ns % kMicro;
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const ChunkStamp& a, const ChunkStamp& b) { return a.end_ns < b.end_ns; });
  stamps.stamps = std::move(times);
  out_.stamps.push_back(std::move(stamps));
}

/// Off by less than its bound.
void Simulation::AddClock(int32_t worker) {
  const SimulatedWorker& one = plan_.workers[static_cast<size_t>(worker)];
  const int64_t off = (Noisy(plan_.clock_error_ns, 1, 11, worker, 0) - plan_.clock_error_ns) * 50;
  const int64_t at_ns = state_.begin_ns;
  out_.clocks.push_back(
      {.worker = worker,
       .method = ClockMethod::kEnvelope,
       .at_ns = at_ns,
       .offset_ns = at_ns - OnClock(at_ns, worker) + off +
                    static_cast<int64_t>(one.drift * static_cast<double>(one.clock_offset_ns)),
       .drift = one.drift,
       .error_ns = plan_.clock_error_ns,
       .probes = 100});
}

SimulatedRound Simulation::Run() {
  const auto count = static_cast<int32_t>(plan_.workers.size());
  for (int32_t worker = 0; worker < count; ++worker) GoUp(worker);
  const Times merges = Merge();
  out_.threads[kNoWorker] = plan_.merge_threads;
  AddStamps(Phase::kMerge, kNoWorker, merges);
  const Times posts = Post(merges);
  RoundRecord& round = out_.round;
  round.round = round_;
  round.begin_ns = state_.begin_ns;
  for (const ChunkStamp& merge : merges)
    round.committed_ns = std::max(round.committed_ns, merge.end_ns + 6 * kHandOver);
  for (int32_t worker = 0; worker < count; ++worker) {
    round.end_ns = std::max(round.end_ns, GoDown(worker, posts) + kHandOver);
    AddClock(worker);
    out_.threads[worker] = plan_.workers[static_cast<size_t>(worker)].threads;
  }
  const int64_t middle = round.begin_ns + (round.end_ns - round.begin_ns) / 2;
  for (int32_t worker = 0; worker < count; ++worker)
    out_.true_shift_ns.push_back(middle - OnClock(middle, worker));
  out_.next.begin_ns = round.end_ns;
  out_.next.start_ns = plan_.barrier ? round.end_ns + 2 * kHandOver : round.committed_ns;
  return std::move(out_);
}

}  // namespace

SimulationState FirstState(const SimulationPlan& plan) {
  constexpr int64_t kBegin = int64_t{3600} * 1000 * kMilli;
  return {kBegin, kBegin + kHandOver, std::vector<int64_t>(plan.workers.size(), kBegin - kMilli)};
}

SimulatedRound SimulateRound(const SimulationPlan& plan, uint32_t round,
                             const SimulationState& state) {
  return Simulation(plan, round, state).Run();
}

}  // namespace interlude
