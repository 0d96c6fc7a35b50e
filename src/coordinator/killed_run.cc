#include "coordinator/killed_run.h"

#include <cstring>
#include <filesystem>

#include "base/rng.h"
#include "coordinator/service_test_support.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

std::vector<float> Noise(size_t count, uint64_t seed, float size) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = (rng.Uniform() - 0.5f) * size;
  return values;
}

std::vector<std::byte> Delta(uint32_t round, WorkerId worker, uint32_t chunk) {
  const size_t count = TestLayout().chunk(chunk).count;
  const uint64_t seed = round * 100 + static_cast<uint64_t>(worker) * 10 + chunk;
  std::vector<std::byte> payload(EncodedBytes(Codec::kQ4, count));
  Hash128 hash;
  EncodeDelta(Codec::kQ4, Noise(count, seed, 1e-2f), std::vector<float>(count), {}, payload, hash);
  return payload;
}

uint64_t SamplesOf(WorkerId worker) { return 100 + static_cast<uint64_t>(worker) * 50; }

}  // namespace

KilledRun::KilledRun(const std::string& name, uint32_t workers, double ema_decay) {
  const CoordinatorOptions options = TestOptions(name, workers);
  options_.directory = options.directory;
  options_.config = options.config;
  options_.config.round.snapshot_every = 2;
  options_.config.round.rounds = 20;
  options_.config.outer.ema_decay = ema_decay;
  options_.workers = workers;
  options_.threads = 2;
  std::filesystem::create_directories(directory() + "/snapshots");
  merger_ = Merger::Create(TestLayout(), options_.config).value();
  const std::vector<float> base = Noise(TestLayout().total_params(), 7, 1.0f);
  for (uint32_t chunk = 0; chunk < TestLayout().num_chunks(); ++chunk) {
    const std::span<std::byte> bytes = merger_->BaseChunkBytes(chunk);
    std::memcpy(bytes.data(), base.data() + TestLayout().chunk(chunk).begin, bytes.size());
  }
  EXPECT_TRUE(merger_->HashBase().ok());
  deltas_ =
      DeltaStore::Create(directory(), TestLayout(), Codec::kQ4, StorageOf(options_.config, workers))
          .value();
}

KilledRun::~KilledRun() { std::filesystem::remove_all(directory()); }

void KilledRun::Begin(uint32_t round, uint32_t recorded) {
  ASSERT_TRUE(deltas_->BeginRound(round).ok());
  const uint32_t members = recorded == 0 ? options_.workers : recorded;
  for (WorkerId worker = 0; worker < static_cast<WorkerId>(members); ++worker)
    ASSERT_TRUE(
        deltas_->SetMember(round, worker, SamplesOf(worker), 1000u + round, options_.workers).ok());
}

void KilledRun::Deliver(uint32_t round, WorkerId worker, uint32_t chunk) {
  const std::vector<std::byte> payload = Delta(round, worker, chunk);
  ASSERT_TRUE(deltas_->Write(round, worker, chunk, 0, payload).ok());
  ASSERT_TRUE(deltas_->Seal(round, worker, chunk, HashBytes(payload)).ok());
}

void KilledRun::Merge(uint32_t round, uint32_t chunk) {
  MergeOrder order{.round = round, .chunk = chunk, .contributors = {}};
  std::vector<std::span<const std::byte>> payloads;
  for (WorkerId worker = 0; worker < static_cast<WorkerId>(options_.workers); ++worker) {
    order.contributors.push_back({worker, SamplesOf(worker)});
    payloads.push_back(deltas_->Delta(round, worker, chunk));
  }
  ASSERT_TRUE(deltas_->RecordMerge(order).ok());
  PhaseTimer timer(Phase::kMerge, round, kNoWorker, SystemClock());
  const auto hashes =
      merger_->MergeChunk(order, payloads, deltas_->MutableSync(round, chunk), timer);
  ASSERT_TRUE(hashes.ok());
  ASSERT_TRUE(deltas_->RecordMerged(round, chunk, hashes->base).ok());
  ASSERT_TRUE(deltas_->SealSync(round, chunk, hashes->payload).ok());
}

void KilledRun::MergeAll(uint32_t round) {
  Begin(round);
  for (uint32_t chunk = 0; chunk < TestLayout().num_chunks(); ++chunk) {
    for (WorkerId worker = 0; worker < static_cast<WorkerId>(options_.workers); ++worker)
      Deliver(round, worker, chunk);
    Merge(round, chunk);
  }
}

void KilledRun::Commit(uint32_t round) {
  MergeAll(round);
  ASSERT_TRUE(deltas_->RecordCommit(round, merger_->Root()).ok());
}

void KilledRun::Snapshot(uint32_t round, const std::function<void()>& between) {
  SnapshotHeader header{.run_id = "the run",
                        .software = "a test",
                        .config = FormatRunConfig(options_.config),
                        .layout = TestLayout(),
                        .state_per_param = static_cast<uint32_t>(merger_->state_per_param()),
                        .has_residual = true,
                        .round = round};
  auto writer = SnapshotWriter::Create(SnapshotFile(round), header);
  ASSERT_TRUE(writer.ok());
  for (uint32_t chunk = 0; chunk < TestLayout().num_chunks(); ++chunk) {
    if (chunk == 1 && between) between();
    const ChunkArrays state = merger_->StateOf(chunk);
    ASSERT_TRUE(writer
                    ->Append({.chunk = chunk,
                              .round = merger_->chunk_round(chunk),
                              .base_hash = merger_->chunk_hashes()[chunk],
                              .base = state.base,
                              .state = state.state,
                              .residual = state.residual})
                    .ok());
  }
  ASSERT_TRUE(writer->Commit().ok());
}

std::string KilledRun::JournalFile(uint32_t round) const {
  const uint32_t kept = StorageOf(options_.config, options_.workers).kept_rounds;
  return fmt::format("{}/journal/ring-{}.journal", directory(), round % kept);
}

void KilledRun::DamagePayload(uint32_t round, WorkerId worker, uint32_t chunk) const {
  const std::vector<std::byte> payload = Delta(round, worker, chunk);
  const std::string_view bytes(reinterpret_cast<const char*>(payload.data()), payload.size());
  const size_t at = ReadWholeFile(JournalFile(round)).find(bytes);
  ASSERT_NE(at, std::string::npos);
  DamageByte(JournalFile(round), at + payload.size() / 2);
}

void DamageByte(const std::string& path, size_t at) {
  std::string bytes = ReadWholeFile(path);
  ASSERT_LT(at, bytes.size()) << path;
  bytes[at] = static_cast<char>(~bytes[at]);
  WriteWholeFile(path, bytes);
}

}  // namespace interlude
