#include "worker/round_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "worker/exchange.h"
#include "worker/process_phase.h"

namespace interlude {
namespace {

constexpr std::chrono::milliseconds kProgressEvery{250};

Status AgreeOnBase(WorkerContext& context, const StartRoundMessage& start) {
  const Hash128 root = context.model.Root();
  if (root == start.base_root) return OkStatus();
  return DataLossError("worker {}: the base of round {} has root {}, the coordinator's has {}",
                       context.worker, start.round, root.ToHex(), start.base_root.ToHex());
}

/// Tells the coordinator how far training is, at most every kProgressEvery.
class ProgressReporter {
 public:
  ProgressReporter(WorkerContext& context, uint32_t round) : context_(context), round_(round) {}

  bool operator()(uint32_t steps_done, double loss) {
    const Nanoseconds now = context_.clock.Now();
    if (!last_.has_value() || now - *last_ >= kProgressEvery) {
      last_ = now;
      context_.control.Send(ProgressMessage{.round = round_,
                                            .steps_done = steps_done,
                                            .steps = context_.config.round.local_steps,
                                            .loss = std::isfinite(loss) ? loss : 0.0});
    }
    return context_.keep_going();
  }

 private:
  WorkerContext& context_;
  const uint32_t round_;
  std::optional<Nanoseconds> last_;
};

/// Over the span of training, which contains it.
Span LoadSpan(const Span& training, const LoadFigures& load) {
  Span span = training;
  span.phase = Phase::kLoad;
  span.busy_ns = std::min(load.wait_ns, training.end_ns - training.begin_ns);
  span.cpu_ns = load.cpu_ns;
  span.run_delay_ns = span.blocked_ns = 0;  // training's has them
  span.bytes = load.bytes;
  return span;
}

StatusOr<TrainResult> Train(WorkerContext& context, uint32_t round) {
  const uint32_t steps = context.config.round.local_steps;
  const TrainRequest request{
      .round = round, .first_step = uint64_t{round - kFirstRound} * steps, .local_steps = steps};
  PhaseTimer timer(Phase::kTrain, round, context.worker, context.clock);
  ProgressReporter progress(context, round);
  context.model.Settle();
  context.model.BeginTraining();
  StatusOr<TrainResult> result = RunProcessPhase(timer, [&] {
    return context.trainer.TrainRound(
        request, [&](uint32_t done, double loss) { return progress(done, loss); });
  });
  if (!result.ok()) timer.MarkFailed();
  context.recorder.Record(timer);
  if (result.ok() && result->load) context.recorder.Record(LoadSpan(timer.Finish(), *result->load));
  return result;
}

}  // namespace

Status Evaluate(WorkerContext& context, uint32_t after_rounds, uint32_t part, uint32_t parts) {
  PhaseTimer timer(Phase::kEvaluate, after_rounds + 1, context.worker, context.clock);
  context.model.Settle();
  const StatusOr<EvaluationResult> result =
      RunProcessPhase(timer, [&] { return context.trainer.Evaluate(part, parts); });
  if (!result.ok()) return result.status();
  context.recorder.Record(timer);
  context.control.Send(EvaluationReportMessage{.after_rounds = after_rounds,
                                               .correct = result->correct,
                                               .samples = result->samples,
                                               .loss_sum = result->loss_sum,
                                               .account = context.recorder.Take(),
                                               .classes = result->classes,
                                               .top5 = result->top5,
                                               .confusion = result->confusion});
  return OkStatus();
}

StatusOr<uint32_t> RunRound(WorkerContext& context, const StartRoundMessage& start) {
  INTERLUDE_RETURN_IF_ERROR(AgreeOnBase(context, start));
  if (start.evaluate) {
    INTERLUDE_RETURN_IF_ERROR(
        Evaluate(context, start.round - 1, start.evaluation_part, start.evaluation_parts));
  }
  INTERLUDE_ASSIGN_OR_RETURN(const TrainResult trained, Train(context, start.round));
  context.sampler.SampleNow();  // what training has left, and payloads come on top of it
  INTERLUDE_ASSIGN_OR_RETURN(const ExchangeResult exchanged,
                             RunExchange(context, start.round, trained.samples));
  context.reported_at = context.clock.Now();  // before the next start message can have been sent
  context.control.Send(RoundReportMessage{.round = start.round,
                                          .root = context.model.Root(),
                                          .samples = trained.samples,
                                          .mean_loss = trained.mean_loss,
                                          .last_loss = trained.last_loss,
                                          .repaired_chunks = exchanged.repaired_chunks,
                                          .upload_bytes = exchanged.upload_bytes,
                                          .download_bytes = exchanged.download_bytes,
                                          .account = context.recorder.Take()});
  return exchanged.retries;
}

}  // namespace interlude
