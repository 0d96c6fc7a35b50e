#include "worker/worker.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "base/address.h"
#include "base/cpu_quota.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/resident_memory.h"
#include "base/version.h"
#include "protocol/worker_session.h"
#include "worker/catch_up.h"
#include "worker/channels.h"
#include "worker/clock_prober.h"
#include "worker/control_link.h"
#include "worker/exchange.h"
#include "worker/process_phase.h"
#include "worker/round_runner.h"

namespace interlude {
namespace {

constexpr std::chrono::milliseconds kAskEvery{100};
/// How long the coordinator's word may lag behind the failure of a call that it ended because of
/// it.
constexpr std::chrono::milliseconds kWordLag{500};

/// Whether a call may have failed because the coordinator ended or interrupted what was under way.
bool MayComeFromThere(const Status& status) {
  switch (status.code()) {
    case StatusCode::kCancelled:
    case StatusCode::kUnavailable:
    case StatusCode::kAborted:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kPermissionDenied:
    case StatusCode::kNotFound:
      return true;
    default:
      return false;
  }
}

/// One stay at a coordinator. Owned and called by one thread.
class Worker {
 public:
  Worker(const WorkerOptions& options, const TrainerFactory& make_trainer, const Clock& clock,
         const std::function<bool()>& stop)
      : options_(options), make_trainer_(make_trainer), clock_(clock), stop_(stop) {}

  StatusOr<WorkerOutcome> Run();

 private:
  /// Whether the stay is over.
  using Handled = StatusOr<bool>;

  Status Join();
  Status HandleMessages();
  Handled On(const WelcomeMessage& welcome);
  Handled On(const ProvideBaseMessage&);
  Handled On(const CatchUpMessage& message);
  Handled On(const StartRoundMessage& start);
  Handled On(const FinishMessage& finish);
  Handled On(const GoodbyeMessage& goodbye);

  void BeginSampling();
  Status MakeModel(const WelcomeMessage& welcome);
  Status BeginAnew(const WelcomeMessage& welcome);
  Status OfferBase();
  Status BringBase(uint32_t least_round, uint32_t round);
  StatusOr<uint32_t> TakePart(const StartRoundMessage& start);
  void ChooseThreads();
  bool Stopped() const { return !(in_round_ && options_.finish_round) && stop_(); }
  bool KeepGoing() const { return !Stopped() && !control_->over() && !control_->begun_anew(); }
  Status Heard(const GoodbyeMessage& goodbye);
  bool Interrupted(const Status& status);
  Status CoordinatorsWord();
  Status Ended();
  Status DepartAsTold();
  std::string ReasonToTell(const Status& status) const;
  Status Depart(const Status& status);

  const WorkerOptions& options_;
  const TrainerFactory& make_trainer_;
  const Clock& clock_;
  const std::function<bool()>& stop_;
  const CpuLimits limits_ = ReadCpuLimits();
  int threads_ = 1;
  WorkerSession session_;
  std::string config_toml_;
  std::atomic<bool> in_round_ = false;
  bool goodbye_heard_ = false;
  std::optional<Nanoseconds> reported_at_;  // of what was handled last, where it was a round
  Nanoseconds idle_since_ = clock_.Now();
  WorkerOutcome outcome_;
  RunConfig config_;
  Recorder recorder_;
  std::optional<Sampler> sampler_;
  std::unique_ptr<BulkStub> bulk_;
  std::unique_ptr<ControlLink> control_;
  std::shared_ptr<grpc::Channel> clock_channel_;
  std::unique_ptr<ClockProber> clock_prober_;
  std::unique_ptr<TaskPool> pool_;
  std::unique_ptr<LocalTrainer> trainer_;
  std::unique_ptr<WorkerModel> model_;
  std::optional<WorkerContext> context_;
};

/// What was asked of this process, else of all processes of the run, else what the machine gives.
void Worker::ChooseThreads() {
  threads_ = options_.threads > 0  ? options_.threads
             : config_.threads > 0 ? static_cast<int>(config_.threads)
                                   : limits_.UsableCores();
  LogInfo("{}; threads: codec {}, trainer {}, gRPC 3 for the streams and its own pollers",
          limits_.ToString(), threads_, threads_);
}

Status Worker::Join() {
  INTERLUDE_ASSIGN_OR_RETURN(
      const Channels channels,
      Connect(options_.coordinator, options_.keys ? &*options_.keys : nullptr,
              options_.connect_timeout, stop_));
  bulk_ = std::make_unique<BulkStub>(channels.bulk);
  clock_channel_ = channels.clock;
  const JoinMessage join{.software = kSoftwareVersion,
                         .host = HostName("unknown"),
                         .process_id = ::getpid(),
                         .requested_worker = options_.requested_worker,
                         .visible_cores = limits_.visible_cores,
                         .quota_cores = limits_.quota_cores.value_or(0),
                         .usable_cores = limits_.UsableCores()};
  control_ = std::make_unique<ControlLink>(
      channels.control, join,
      ControlLinkOptions{.address = options_.coordinator, .reconnect_for = options_.reconnect_for},
      stop_);
  return OkStatus();
}

void Worker::BeginSampling() {
  SamplerOptions options{.recorded_by = outcome_.worker};
  if (const auto port = PortOf(options_.coordinator)) options.tcp = TcpPorts{.port = *port};
  sampler_.emplace(options, clock_);
  recorder_.AddSource([this] { return sampler_->Take(); });
}

Status Worker::MakeModel(const WelcomeMessage& welcome) {
  config_toml_ = welcome.config_toml;
  INTERLUDE_ASSIGN_OR_RETURN(
      config_, ParseRunConfig(welcome.config_toml, "the coordinator's configuration"));
  ChooseThreads();
  PhaseTimer prepare(Phase::kPrepare, kBeforeRounds, welcome.worker, clock_);
  const Status made = RunProcessPhase(prepare, [&] {
    StatusOr<std::unique_ptr<LocalTrainer>> trainer =
        make_trainer_(config_, welcome.worker, welcome.workers, threads_);
    if (!trainer.ok()) return trainer.status();
    trainer_ = *std::move(trainer);
    if (trainer_->layout().num_chunks() == 0)
      return InternalError("the trainer's model has no parameters");
    StatusOr<std::unique_ptr<WorkerModel>> model =
        WorkerModel::Create(*trainer_, config_.round, threads_);
    if (model.ok()) model_ = *std::move(model);
    return model.status();
  });
  INTERLUDE_RETURN_IF_ERROR(made);
  recorder_.Record(prepare);
  pool_ = std::make_unique<TaskPool>(threads_);
  context_.emplace(WorkerContext{config_, *trainer_, *model_, *pool_, recorder_, *sampler_, clock_,
                                 *control_, *bulk_, welcome.worker, welcome.session,
                                 [this] { return KeepGoing(); }});
  return OkStatus();
}

/// The place of this worker was given up while its connection was broken. It keeps its model, and
/// what it has not delivered goes the way of all that was dropped.
Status Worker::BeginAnew(const WelcomeMessage& welcome) {
  if (welcome.worker != outcome_.worker || welcome.config_toml != config_toml_) {
    return AbortedError(
        "the coordinator now gives this worker another id or configuration: start it again");
  }
  session_ = WorkerSession();
  INTERLUDE_RETURN_IF_ERROR(session_.Welcomed(welcome.worker));
  context_->session = welcome.session;
  clock_prober_->SetSession(welcome.session);
  model_->Settle();
  return OfferBase();
}

Status Worker::OfferBase() {
  INTERLUDE_RETURN_IF_ERROR(session_.OfferedBase());
  control_->Send(BaseOfferMessage{.layout = model_->layout(),
                                  .chunk_hashes = model_->BaseHashes(),
                                  .account = recorder_.Take(),
                                  .threads = threads_,
                                  .may_provide = trainer_->MayProvideBase(),
                                  .data = trainer_->data_facts()});
  // Until CatchUp tells. One that is lost with its session is not said again where StartRound has
  // followed it: then all of the base is fetched.
  for (uint32_t chunk = 0; chunk < model_->num_chunks(); ++chunk) {
    model_->set_base_round(chunk, kNoBase);
  }
  return OkStatus();
}

Worker::Handled Worker::On(const WelcomeMessage& welcome) {
  if (context_.has_value()) {
    INTERLUDE_RETURN_IF_ERROR(BeginAnew(welcome));
    return false;
  }
  INTERLUDE_RETURN_IF_ERROR(session_.Welcomed(welcome.worker));
  outcome_.worker = welcome.worker;
  LogInfo("joined run {} at {} as worker {} of {}", welcome.run_id, options_.coordinator,
          welcome.worker, welcome.workers);
  clock_prober_ =
      std::make_unique<ClockProber>(clock_channel_, clock_, welcome.worker, welcome.session);
  recorder_.AddSource([this] { return Account{.probes = clock_prober_->Take()}; });
  BeginSampling();
  INTERLUDE_RETURN_IF_ERROR(MakeModel(welcome));
  INTERLUDE_RETURN_IF_ERROR(OfferBase());
  return false;
}

Worker::Handled Worker::On(const ProvideBaseMessage&) {
  INTERLUDE_RETURN_IF_ERROR(session_.AskedForBase());
  INTERLUDE_ASSIGN_OR_RETURN(const uint32_t retries, UploadBase(*context_));
  outcome_.retries += retries;
  return false;
}

/// To `least_round` or a later one, and tells the coordinator what it took. The span's round is
/// `round`.
Status Worker::BringBase(uint32_t least_round, uint32_t round) {
  PhaseTimer share(Phase::kShareBase, round, context_->worker, clock_);
  INTERLUDE_ASSIGN_OR_RETURN(const CatchUpResult result, CatchUp(*context_, least_round, share));
  if (share.entered()) recorder_.Record(share);
  outcome_.retries += result.retries;
  control_->Send(CaughtUpMessage{.round = result.round,
                                 .base_chunks = result.base_chunks,
                                 .sync_chunks = result.sync_chunks,
                                 .bytes = result.bytes,
                                 .account = recorder_.Take()});
  return OkStatus();
}

Worker::Handled Worker::On(const CatchUpMessage& message) {
  INTERLUDE_RETURN_IF_ERROR(session_.AskedToCatchUp());
  const size_t told = message.chunk_rounds.size();
  if (told != 0 && told != model_->num_chunks()) {
    return InvalidArgumentError("worker {} is told the rounds of {} chunks, the layout has {}",
                                outcome_.worker, told, model_->num_chunks());
  }
  for (uint32_t chunk = 0; chunk < told; ++chunk) {
    model_->set_base_round(chunk, message.chunk_rounds[chunk]);
  }
  INTERLUDE_RETURN_IF_ERROR(BringBase(message.committed_rounds, kBeforeRounds));
  return false;
}

/// One round. Cancelled where it goes on without this worker.
StatusOr<uint32_t> Worker::TakePart(const StartRoundMessage& start) {
  WorkerContext in_round = *context_;
  in_round.keep_going = [this] { return KeepGoing() && !control_->left_behind(); };
  in_round_ = true;
  StatusOr<uint32_t> retries = RunRound(in_round, start);
  reported_at_ = in_round.reported_at;
  in_round_ = false;
  return retries;
}

Worker::Handled Worker::On(const StartRoundMessage& start) {
  // A session that was taken up again begins with what the worker may know already.
  if (start.round != 0 && start.round == session_.round()) return false;
  INTERLUDE_RETURN_IF_ERROR(session_.RoundStarted(start.round));
  recorder_.Record(Span{.phase = Phase::kAwaitRound,
                        .round = start.round,
                        .recorded_by = context_->worker,
                        .begin_ns = idle_since_.count(),
                        .end_ns = clock_.Now().count()});
  if (model_->ChunksAt(start.round - 1).size() < model_->num_chunks()) {
    INTERLUDE_RETURN_IF_ERROR(BringBase(start.round - 1, start.round));
  }
  const StatusOr<uint32_t> retries = TakePart(start);
  if (!retries.ok()) return retries.status();
  INTERLUDE_RETURN_IF_ERROR(session_.RoundReported(start.round));
  outcome_.retries += *retries;
  ++outcome_.rounds;
  return false;
}

Worker::Handled Worker::On(const FinishMessage& finish) {
  if (session_.stage() == WorkerSession::Stage::kFinishing) return false;  // said again
  INTERLUDE_RETURN_IF_ERROR(session_.ToldToFinish());
  // One that came only to score may be behind by the round that was merged meanwhile.
  if (model_->ChunksAt(finish.after_rounds).size() < model_->num_chunks()) {
    INTERLUDE_RETURN_IF_ERROR(BringBase(finish.after_rounds, kBeforeRounds));
  }
  INTERLUDE_RETURN_IF_ERROR(
      Evaluate(*context_, finish.after_rounds, finish.evaluation_part, finish.evaluation_parts));
  return false;
}

Worker::Handled Worker::On(const GoodbyeMessage& goodbye) {
  INTERLUDE_RETURN_IF_ERROR(Heard(goodbye));
  return true;
}

/// What a Goodbye means where the worker stands: a good end only when all is done.
Status Worker::Heard(const GoodbyeMessage& goodbye) {
  goodbye_heard_ = true;
  if (goodbye.code == StatusCode::kOk) return session_.Done();
  return Status(goodbye.code, goodbye.reason);
}

/// The stream has ended without a Goodbye.
Status Worker::Ended() {
  INTERLUDE_RETURN_IF_ERROR(control_->EndStatus());
  if (session_.stage() == WorkerSession::Stage::kFinishing) return OkStatus();
  return UnavailableError(
      "the coordinator at {} closed the session without a word; its log says why",
      options_.coordinator);
}

Status Worker::HandleMessages() {
  for (;;) {
    if (stop_()) return CancelledError("told to stop");
    const bool ended = control_->ended();  // asked before: a last message may lie in the queue
    const std::optional<CoordinatorMessage> message = control_->ReceiveFor(kAskEvery);
    if (!message.has_value()) {
      if (ended) return Ended();
      continue;
    }
    const Handled done = std::visit([this](const auto& kind) { return On(kind); }, *message);
    idle_since_ = std::exchange(reported_at_, std::nullopt).value_or(clock_.Now());
    if (Interrupted(done.status())) {
      LogWarning("given up, for the coordinator has another order: {}", done.status().message());
      continue;
    }
    if (!done.ok()) return done.status();
    if (*done) return OkStatus();
  }
}

/// Whether what failed is not wanted any more, and the worker stays.
bool Worker::Interrupted(const Status& status) {
  return !status.ok() && !Stopped() && MayComeFromThere(status) &&
         control_->InterruptedWithin(kWordLag) && !control_->over();
}

/// What the coordinator said at the end, when the stay was ended from its side in the middle of
/// something. Cancelled when told to stop while waiting for it.
Status Worker::CoordinatorsWord() {
  while (!stop_()) {
    const bool ended = control_->ended();
    const std::optional<CoordinatorMessage> message = control_->ReceiveFor(kAskEvery);
    if (message.has_value()) {
      const auto* goodbye = std::get_if<GoodbyeMessage>(&*message);
      if (goodbye != nullptr) return Heard(*goodbye);
    } else if (ended) {
      return Ended();
    }
  }
  return CancelledError("told to stop");
}

Status Worker::DepartAsTold() {
  control_->Leave({.reason = "told to stop"});
  return CancelledError("worker {} was told to stop and has left after {} rounds", outcome_.worker,
                        outcome_.rounds);
}

/// What the coordinator hears of a failure. Errors may name files and folders, and those of local
/// data are nobody else's business.
std::string Worker::ReasonToTell(const Status& status) const {
  if (!IsLocal(config_.data)) return status.message();
  return fmt::format("{}; its own log says more (data.sharing = \"local\")",
                     StatusCodeName(status.code()));
}

/// Chooses the word that tells most, says it to the coordinator, and returns it.
Status Worker::Depart(const Status& status) {
  if (clock_prober_ != nullptr) clock_prober_->Stop();
  if (status.ok() || goodbye_heard_) {
    control_->Leave({.reason = "the coordinator said goodbye"});
    return status;
  }
  if (stop_()) return DepartAsTold();
  if (MayComeFromThere(status) && control_->OverWithin(kWordLag)) {
    const Status word = CoordinatorsWord();
    if (!goodbye_heard_ && stop_()) return DepartAsTold();
    control_->Leave({.reason = "the coordinator ended the stay"});
    return word.ok() && status.code() != StatusCode::kCancelled ? status : word;
  }
  control_->Leave({.failed = true, .reason = ReasonToTell(status)});
  return status;
}

StatusOr<WorkerOutcome> Worker::Run() {
  INTERLUDE_RETURN_IF_ERROR(Join());
  INTERLUDE_RETURN_IF_ERROR(Depart(HandleMessages()));
  if (model_ != nullptr) outcome_.root_hash = model_->Root().ToHex();
  return outcome_;
}

}  // namespace

Status CheckExposure(const WorkerOptions& options) {
  if (options.keys || options.insecure || IsLoopback(options.coordinator)) return OkStatus();
  return InvalidArgumentError(
      "the coordinator at {} is on another machine, and without keys anybody between could read "
      "along or take its place: give --keys DIR with this worker's files of interlude keys init, "
      "or "
      "give --insecure on a network that you trust wholly",
      options.coordinator);
}

StatusOr<WorkerOutcome> RunWorker(const WorkerOptions& options, const TrainerFactory& make_trainer,
                                  const Clock& clock, const std::function<bool()>& stop) {
  INTERLUDE_RETURN_IF_ERROR(CheckExposure(options));
  const StatusOr<WorkerOutcome> outcome = Worker(options, make_trainer, clock, stop).Run();
  // All that belonged to the stay is gone.
  if (const auto held = ExplainResidentMemory()) LogInfo("{}", FormatHeldMemory(*held));
  return outcome;
}

}  // namespace interlude
