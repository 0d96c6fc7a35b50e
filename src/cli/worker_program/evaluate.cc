#include "cli/worker_program/evaluate.h"

#include <algorithm>
#include <cstdio>

#include "base/cpu_quota.h"
#include "base/log.h"
#include "cli/app.h"
#include "cli/exit_codes.h"
#include "cli/worker_program/saved_model.h"
#include "cli/worker_program/trainers.h"
#include "ledger/run_database.h"
#include "report/evaluation_text.h"
#include "report/table.h"

namespace interlude {

namespace {

StatusOr<RunConfig> ConfigOf(const SavedModel& model, const EvaluateOptions& options) {
  RunConfig config = model.config;
  config.model.pretrained.clear();  // the parameters are in the file
  config.train.batch = 1;           // a test set may come with a few training samples alone
  config.train.accumulate = 1;
  std::vector<std::string> settings = options.settings;
  if (!options.data.empty()) settings.push_back("data.directory=" + options.data);
  INTERLUDE_RETURN_IF_ERROR(ApplySettings(settings, config));
  if (IsLocal(config.data) && options.data.empty()) {
    return InvalidArgumentError(
        "{}: each worker of its run had data of its own; say with --data DIR whose test part to "
        "score it on",
        model.path);
  }
  return config;
}

StatusOr<EvaluationRecord> Score(const SavedModel& model, const RunConfig& config, int threads) {
  INTERLUDE_ASSIGN_OR_RETURN(const auto trainer, CreateModelTrainer(config, 0, 1, threads));
  const std::string difference = DescribeDifference(trainer->data_facts(), model.data);
  if (!difference.empty()) {
    return InvalidArgumentError("the data set is not the one of {}'s run: {}", model.path,
                                difference);
  }
  INTERLUDE_RETURN_IF_ERROR(LoadParameters(model, config, *trainer));
  INTERLUDE_ASSIGN_OR_RETURN(const EvaluationResult result, trainer->Evaluate(0, 1));
  if (result.samples == 0) return InvalidArgumentError("the data set has no test samples");
  return EvaluationRecord{.after_rounds = model.rounds,
                          .samples = result.samples,
                          .correct = result.correct,
                          .mean_loss = result.loss_sum / static_cast<double>(result.samples),
                          .classes = result.classes,
                          .top5 = result.top5,
                          .confusion = result.confusion};
}

void Print(const SavedModel& model, const RunConfig& config, const EvaluationRecord& evaluation) {
  fmt::print("{}: after {} rounds of run {}\n", Printable(model.path), model.rounds,
             Printable(model.run_id));
  fmt::print("Accuracy {}; loss {:.4f}; {} test samples of {} in {}\n\n", AccuracyText(evaluation),
             evaluation.mean_loss, evaluation.samples, config.data.name,
             Printable(config.data.directory));
  fmt::print("{}", ClassScoresText(evaluation, model.data.classes, /*most=*/0));
}

}  // namespace

int EvaluateSavedModel(const EvaluateOptions& options) {
  InitLog("evaluate");
  const auto model = ReadSavedModel(options.model);
  if (!model.ok()) return Fail(model.status(), kExitUsage);
  const auto config = ConfigOf(*model, options);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const int threads =
      options.threads > 0 ? options.threads : std::max(1, ReadCpuLimits().UsableCores());
  const auto evaluation = Score(*model, *config, threads);
  if (!evaluation.ok()) return Fail(evaluation.status(), ExitCodeFor(evaluation.status()));
  if (options.json) {
    fmt::print("{}", EvaluationJson(*evaluation, model->data.classes));
  } else {
    Print(*model, *config, *evaluation);
  }
  return std::fflush(stdout) == 0 ? kExitOk : kExitFailed;
}

}  // namespace interlude
