#include "coordinator/coordinator.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/address.h"
#include "base/cpu_quota.h"
#include "base/log.h"
#include "base/resident_memory.h"
#include "base/version.h"
#include "coordinator/chunk_merge.h"
#include "coordinator/ledger_book.h"
#include "coordinator/recovery.h"
#include "coordinator/round_thread.h"
#include "coordinator/run_directory.h"
#include "coordinator/service.h"
#include "coordinator/shared_state.h"

namespace interlude {
namespace {

/// Nobody opens a port to others without having said that everybody may join.
Status CheckExposure(const CoordinatorOptions& options) {
  if (options.keys || options.insecure || IsLoopback(options.listen)) return OkStatus();
  return InvalidArgumentError(
      "other machines can reach {}, and without keys anybody there could read along and join: make "
      "keys with interlude keys init DIR and give --keys DIR, or give --insecure on a network that "
      "you trust wholly",
      options.listen);
}

std::string MakeRunId(const Clock& clock, uint64_t seed) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(clock.WallTime()).count();
  return fmt::format("{:%Y%m%dT%H%M%SZ}-seed{}-{}", fmt::gmtime(seconds), seed, ::getpid());
}

std::string Iso8601(const Clock& clock) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(clock.WallTime()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

/// "vit on fashion_mnist, 2 workers"
std::string RunTitle(const RunConfig& config, uint32_t workers) {
  const std::string count = fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
  switch (config.model.kind) {
    case ModelKind::kVit:
      return fmt::format("vit on {}, {}", config.data.name, count);
    case ModelKind::kConvNet:
      return fmt::format("convnet on {}, {}", config.data.name, count);
    case ModelKind::kTorchScript:
      return fmt::format("{} on {}, {}",
                         std::filesystem::path(config.model.file).filename().string(),
                         config.data.name, count);
    case ModelKind::kModule:
      return fmt::format("{} on {}, {}", config.model.module, config.data.name, count);
    case ModelKind::kSynthetic:
      return fmt::format("synthetic training, {}", count);
  }
  return count;
}

/// Of each worker, as the ledger knows from before.
StatusOr<std::map<WorkerId, uint32_t>> CountOffences(const RunDatabase& database) {
  std::map<WorkerId, uint32_t> offences;
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<EventRecord> events, database.Events());
  for (const EventRecord& event : events) {
    if (event.kind == kRefusedEvent) ++offences[event.worker];
  }
  return offences;
}

class CoordinatorImpl final : public Coordinator {
 public:
  CoordinatorImpl(const CoordinatorOptions& options, const Clock& clock, RunObserver* observer)
      : options_(options),
        clock_(clock),
        observer_(observer != nullptr ? *observer : silent_),
        shared_(clock, options.config.round.retained_syncs),
        service_(shared_, options_.workers, keys()) {}

  ~CoordinatorImpl() override {
    Stop("the coordinator is going away");
    if (thread_.joinable()) thread_.join();
    RefuseAllEvents(shared_.events, UnavailableError("the coordinator could not start"));
    ShutDown();
  }

  Status Begin() {
    const CpuLimits limits = ReadCpuLimits();
    const int threads = options_.threads > 0 ? options_.threads : limits.UsableCores();
    const int pollers = std::max(1, limits.UsableCores() / 2);
    LogInfo("{}; merge pool {} threads, gRPC pollers {}", limits.ToString(), threads, pollers);

    INTERLUDE_RETURN_IF_ERROR(CheckExposure(options_));
    // Loads a merge plug-in, which stays loaded: what does not fit is to be seen before anyone
    // joins.
    INTERLUDE_ASSIGN_OR_RETURN(merge_, ChunkMerge::Create(options_.config));
    // Before anything is written. Who comes already is heard when the round thread runs.
    INTERLUDE_ASSIGN_OR_RETURN(server_, StartServer({.listen = options_.listen,
                                                     .pollers = pollers,
                                                     .workers = options_.workers,
                                                     .keys = keys()},
                                                    service_));
    BeginSampling();
    INTERLUDE_ASSIGN_OR_RETURN(
        directory_, OpenRunDirectory(options_.directory, options_.config, options_.workers));
    INTERLUDE_ASSIGN_OR_RETURN(std::optional<RecoveredRun> recovered,
                               RecoverRun({.directory = options_.directory,
                                           .config = options_.config,
                                           .workers = options_.workers,
                                           .threads = threads,
                                           .committed_rounds = directory_.committed_rounds},
                                          clock_));
    const std::string run_id = recovered           ? recovered->run_id
                               : directory_.run_id ? *directory_.run_id
                                                   : MakeRunId(clock_, options_.config.seed);
    INTERLUDE_ASSIGN_OR_RETURN(auto offences, CountOffences(*directory_.database));
    book_ = std::make_unique<LedgerBook>(std::move(directory_.database), shared_.recorder, clock_);
    WriteMeta(run_id, threads);
    round_thread_ = std::make_unique<RoundThread>(options_, threads, run_id, shared_, *book_,
                                                  observer_, std::move(offences));
    if (recovered) round_thread_->Restore(*std::move(recovered));
    thread_ = std::thread([this] { outcome_ = round_thread_->Run(); });
    return OkStatus();
  }

  std::string address() const override { return server_.address; }

  StatusOr<RunOutcome> Wait() override {
    if (thread_.joinable()) thread_.join();
    ShutDown();
    if (outcome_.ok()) outcome_->ledger_complete = ledger_complete_;
    return outcome_;
  }

  void Stop(const std::string& reason) override { shared_.events.Push(StopEvent{reason}); }

 private:
  const TransportKeys* keys() const { return options_.keys ? &*options_.keys : nullptr; }

  void BeginSampling() {
    SamplerOptions options;
    if (const auto port = PortOf(server_.address))
      options.tcp = TcpPorts{.port = *port, .own_end = true};
    shared_.sampler.emplace(options, clock_);
    shared_.recorder.AddSource([this] { return shared_.sampler->Take(); });
  }

  void WriteMeta(const std::string& run_id, int threads) {
    const RunConfig& config = options_.config;
    book_->Meta("run_id", run_id);
    book_->Meta("workers", std::to_string(options_.workers));
    book_->Meta(kMetaMergeThreads, std::to_string(threads));
    book_->Meta(kMetaTitle, RunTitle(config, options_.workers));
    book_->Meta(kMetaSoftware, kSoftwareVersion);
    book_->Meta(kMetaStartedAt, Iso8601(clock_));
    book_->Meta(kMetaConfig, FormatRunConfig(config));
    book_->Meta(kMetaExchange,
                config.round.exchange == ExchangeMode::kBarrier ? "barrier" : "pipelined");
    book_->Meta(kMetaCodec, CodecName(CodecOf(config)));
    if (const MergePlugin* plugin = merge_->plugin()) {
      book_->Meta("merge_plugin", plugin->name());
      book_->Meta("merge_plugin_hash", plugin->hash().ToHex());
    }
  }

  /// Gives the workers a moment to take their goodbye and go; then lets go of the run's memory, so
  /// that the last samples say what is held without it, and closes the account.
  void ShutDown() {
    if (server_.server == nullptr) return;
    server_.server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_.server->Wait();
    server_.server.reset();
    round_thread_.reset();
    shared_.SetExchange(nullptr);
    if (shared_.sampler) shared_.sampler->Stop();
    if (book_ == nullptr) return;
    book_->Close();  // handlers recorded to the end
    if (options_.before_closing) options_.before_closing();
    ledger_complete_ = !book_->failed();
    book_.reset();
    if (const auto held = ExplainResidentMemory()) LogInfo("{}", FormatHeldMemory(*held));
  }

  const CoordinatorOptions options_;
  const Clock& clock_;
  RunObserver silent_;
  RunObserver& observer_;
  SharedState shared_;
  CoordinatorService service_;
  RunDirectory directory_;
  std::optional<ChunkMerge> merge_;
  Server server_;
  std::unique_ptr<LedgerBook> book_;
  std::unique_ptr<RoundThread> round_thread_;
  std::thread thread_;
  bool ledger_complete_ = true;
  StatusOr<RunOutcome> outcome_ = UnknownError("the run has not ended");
};

}  // namespace

StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const CoordinatorOptions& options,
                                                          const Clock& clock,
                                                          RunObserver* observer) {
  if (options.workers < 1) return InvalidArgumentError("a run needs at least one worker");
  auto coordinator = std::make_unique<CoordinatorImpl>(options, clock, observer);
  INTERLUDE_RETURN_IF_ERROR(coordinator->Begin());
  return std::unique_ptr<Coordinator>(std::move(coordinator));
}

}  // namespace interlude
