#include "coordinator/model_saver.h"

#include <utility>

#include "base/log.h"

namespace interlude {

ModelSaver::ModelSaver(std::string path, Merger& merger, std::optional<double> accuracy)
    : path_(std::move(path)),
      merger_(merger),
      saved_accuracy_(accuracy),
      thread_([this] { Run(); }) {
  merger_.SetBeforeMerge([this](uint32_t chunk, uint32_t rounds, std::span<const float> values) {
    if (const auto job = NewestJob()) Write(*job, chunk, rounds, values);
  });
}

ModelSaver::~ModelSaver() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  merger_.SetBeforeMerge(nullptr);
}

bool ModelSaver::Begin(uint32_t rounds, double accuracy,
                       const std::map<std::string, std::string>& metadata) {
  if (NewestJob() != nullptr) return false;
  StatusOr<SafetensorsFile> file = SafetensorsFile::Create(path_, merger_.layout(), metadata);
  if (!file.ok()) {
    LogWarning("{} is not saved: {}", path_, file.status().message());
    return true;
  }
  MutexLock lock(mutex_);
  job_ = std::make_shared<Job>(rounds, accuracy, *std::move(file), merger_.layout().num_chunks());
  changed_.NotifyAll();
  return true;
}

std::optional<double> ModelSaver::accuracy() {
  MutexLock lock(mutex_);
  return job_ != nullptr ? job_->accuracy : saved_accuracy_;
}

void ModelSaver::Await() {
  MutexLock lock(mutex_);
  while (job_ != nullptr && !stop_) changed_.Wait(mutex_);
}

std::shared_ptr<ModelSaver::Job> ModelSaver::NewestJob() {
  MutexLock lock(mutex_);
  return job_;
}

void ModelSaver::Write(Job& job, uint32_t chunk, uint32_t rounds,
                       std::span<const float> values) const {
  if (std::exchange(job.written[chunk], 1) != 0) return;
  Status status = rounds == job.rounds
                      ? job.file.Write(merger_.layout().chunk(chunk).begin, values)
                      : InternalError("chunk {} stands after {} rounds", chunk, rounds);
  if (status.ok()) return;
  MutexLock lock(job.mutex);
  job.status = std::move(status);
}

void ModelSaver::Run() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      MutexLock lock(mutex_);
      while (job_ == nullptr && !stop_) changed_.Wait(mutex_);
      if (stop_) return;
      job = job_;
    }
    const Status status = Finish(*job);
    if (!status.ok() && status.code() != StatusCode::kCancelled)
      LogWarning("{} is not saved: {}", path_, status.message());
    MutexLock lock(mutex_);
    if (status.ok()) saved_accuracy_ = job->accuracy;
    job_.reset();
    job.reset();  // who awaits it finds no file that is not whole
    changed_.NotifyAll();
  }
}

Status ModelSaver::Finish(Job& job) {
  for (uint32_t chunk = 0; chunk < merger_.layout().num_chunks(); ++chunk) {
    {
      MutexLock lock(mutex_);
      if (stop_) return CancelledError("the run has ended");
    }
    merger_.LookAtBase(chunk, [&](uint32_t index, uint32_t rounds, std::span<const float> values) {
      Write(job, index, rounds, values);
    });
    MutexLock lock(job.mutex);
    INTERLUDE_RETURN_IF_ERROR(job.status);
  }
  return job.file.Commit();
}

}  // namespace interlude
