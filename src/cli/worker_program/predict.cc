#include "cli/worker_program/predict.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/cpu_quota.h"
#include "base/log.h"
#include "cli/app.h"
#include "cli/exit_codes.h"
#include "cli/worker_program/prediction_text.h"
#include "cli/worker_program/saved_model.h"
#include "cli/worker_program/trainers.h"
#include "images/picture_files.h"

namespace interlude {

namespace {

PictureFiles FilesOf(const std::vector<std::string>& arguments) {
  PictureFiles list;
  for (const std::string& argument : arguments) {
    if (argument != "-") {
      AddPictureFiles(argument, list);
      continue;
    }
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    for (const std::string& path : SplitPaths(text)) AddPictureFiles(path, list);
  }
  return list;
}

Status Write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return OkStatus();
  return ErrnoError(errno, "writing the predictions");
}

StatusOr<std::unique_ptr<Predictor>> OpenPredictor(const SavedModel& model,
                                                   const PredictCommandOptions& options) {
  RunConfig config = model.config;
  INTERLUDE_RETURN_IF_ERROR(ApplySettings(options.settings, config));
  const int threads =
      options.threads > 0 ? options.threads : std::max(1, ReadCpuLimits().UsableCores());
  auto predictor = CreateModelPredictor(config, model.data, threads);
  if (!predictor.ok()) return predictor.status().WithContext(model.path);
  const Status loaded = LoadParameters(model, **predictor);
  if (!loaded.ok()) return loaded;
  return predictor;
}

/// Everything that is printed; counts what could not be read.
class Printer {
 public:
  Printer(const SavedModel& model, const PredictCommandOptions& options)
      : model_(model), options_(options) {}

  Status Begin() const {
    if (options_.json) return OkStatus();
    const size_t top = std::min<size_t>(options_.top, model_.config.model.classes);
    if (options_.csv) return Write(PredictionCsvHeader(top));
    return Write(fmt::format("{}: after {} rounds of run {}\n\n", WithoutControls(model_.path),
                             model_.rounds, WithoutControls(model_.run_id)));
  }

  void Skip(const std::string& reason) {
    ++skipped_;
    std::fflush(stdout);  // where both go to one place the order is that of the files
    fmt::print(stderr, "skipped: {}\n", WithoutControls(reason));
  }

  Status Take(const FilePrediction& prediction) {
    if (!prediction.status.ok()) {
      Skip(prediction.status.message());
      return OkStatus();
    }
    ++predicted_;
    const auto& names = model_.data.classes;
    return Write(options_.json  ? PredictionJson(prediction, names)
                 : options_.csv ? PredictionCsv(prediction, names)
                                : PredictionText(prediction, names));
  }

  Status End() const {
    if (std::fflush(stdout) != 0) return ErrnoError(errno, "writing the predictions");
    if (skipped_ > 0) fmt::print(stderr, "{} skipped, {} predicted\n", skipped_, predicted_);
    return OkStatus();
  }

  bool all_read() const { return skipped_ == 0; }

 private:
  const SavedModel& model_;
  const PredictCommandOptions& options_;
  uint64_t predicted_ = 0;
  uint64_t skipped_ = 0;
};

Status Predict(Predictor& predictor, PictureFiles list, const PredictCommandOptions& options,
               Printer& printer) {
  INTERLUDE_RETURN_IF_ERROR(printer.Begin());
  for (const std::string& reason : list.unreadable) printer.Skip(reason);
  INTERLUDE_RETURN_IF_ERROR(predictor.Predict(
      std::move(list.files), {.top = options.top, .batch = options.batch},
      [&](const FilePrediction& prediction) { return printer.Take(prediction); }));
  return printer.End();
}

}  // namespace

int PredictFiles(const PredictCommandOptions& options) {
  InitLog("predict");
  const auto model = ReadSavedModel(options.model);
  if (!model.ok()) return Fail(model.status(), kExitUsage);
  const auto predictor = OpenPredictor(*model, options);
  if (!predictor.ok()) return Fail(predictor.status(), ExitCodeFor(predictor.status()));
  if (model->data.classes.empty())
    LogWarning("{} does not name its classes; their numbers stand for them", model->path);
  Printer printer(*model, options);
  const Status status = Predict(**predictor, FilesOf(options.files), options, printer);
  if (!status.ok()) {
    std::fflush(stdout);
    return Fail(status, kExitFailed);
  }
  return printer.all_read() ? kExitOk : kExitFilesSkipped;
}

}  // namespace interlude
