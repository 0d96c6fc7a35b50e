#include "images/batch_loader.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "base/thread_times.h"

namespace interlude {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A batch in work. Each position is written by one thread; the rest belongs to the state's mutex.
struct Slot {
  BatchRequest request;
  std::shared_ptr<Buffer> buffer;  // once begun
  std::vector<int64_t> labels;
  size_t next = 0;  // position that nobody has begun
  size_t done = 0;
  std::vector<BadPicture> bad;
  Status status;  // of the first position that failed
  size_t failed_position = 0;

  size_t size() const { return request.samples.size(); }
};

/// What preparing one picture gave, besides floats and label.
struct Prepared {
  Status status;
  std::vector<BadPicture> bad;
  bool decoded = false;
  int64_t cpu_ns = 0;
};

/// What a thread keeps for itself.
struct Scratch {
  Picture file;
  TransformScratch transform;
};

}  // namespace

struct BatchLoader::State : std::enable_shared_from_this<State> {
  State(const Pictures& all_pictures, const Transform& the_transform, const LoaderOptions& options)
      : pictures(all_pictures),
        transform(the_transform),
        most_buffers(size_t{options.prefetch} + 1) {}

  const Pictures& pictures;
  const Transform& transform;
  const size_t most_buffers;

  Mutex mutex;
  CondVar work;
  CondVar ready;
  bool stop INTERLUDE_GUARDED_BY(mutex) = false;
  std::deque<std::shared_ptr<Slot>> slots INTERLUDE_GUARDED_BY(mutex);
  size_t buffers_out INTERLUDE_GUARDED_BY(mutex) = 0;  // in slots or with the consumer
  std::vector<std::unique_ptr<Buffer>> buffers INTERLUDE_GUARDED_BY(mutex);  // free ones
  LoaderCounters counters INTERLUDE_GUARDED_BY(mutex);

  void RunThread();
  void PrepareAll(const std::shared_ptr<Slot>& slot);
  Prepared Prepare(Slot& slot, size_t position, Scratch& scratch) const;
  std::shared_ptr<Slot> FindWork() INTERLUDE_REQUIRES(mutex);
  void Begin(Slot& slot) INTERLUDE_REQUIRES(mutex);
  void Finish(Slot& slot, size_t position, Prepared prepared) INTERLUDE_REQUIRES(mutex);
  std::shared_ptr<Buffer> TakeBuffer(size_t elements) INTERLUDE_REQUIRES(mutex);
  void GiveBack(std::unique_ptr<Buffer> buffer) INTERLUDE_EXCLUDES(mutex);
};

/// The first batch that has pictures left, if there is memory for it: later ones wait their turn.
std::shared_ptr<Slot> BatchLoader::State::FindWork() {
  for (const auto& slot : slots) {
    if (slot->next == slot->size()) continue;
    if (slot->buffer == nullptr) {
      if (buffers_out >= most_buffers) return nullptr;
      Begin(*slot);
    }
    return slot;
  }
  return nullptr;
}

void BatchLoader::State::Begin(Slot& slot) {
  slot.buffer = TakeBuffer(slot.size() * transform.elements());
  slot.labels.resize(slot.size());
}

std::shared_ptr<Buffer> BatchLoader::State::TakeBuffer(size_t elements) {
  std::unique_ptr<Buffer> buffer;
  if (!buffers.empty()) {
    buffer = std::move(buffers.back());
    buffers.pop_back();
  }
  if (buffer == nullptr || buffer->floats().size() < elements) {
    buffer = std::make_unique<Buffer>(Buffer::Floats("batches", elements));
  }
  ++buffers_out;
  return {buffer.release(), [self = shared_from_this()](Buffer* memory) {
            self->GiveBack(std::unique_ptr<Buffer>(memory));
          }};
}

void BatchLoader::State::GiveBack(std::unique_ptr<Buffer> buffer) {
  const MutexLock lock(mutex);
  --buffers_out;
  if (!stop) buffers.push_back(std::move(buffer));
  work.NotifyAll();
}

Prepared BatchLoader::State::Prepare(Slot& slot, size_t position, Scratch& scratch) const {
  Prepared prepared;
  const int64_t cpu_begin_ns = ReadThreadTimes().cpu_ns;
  const BatchRequest& request = slot.request;
  const std::span<float> out =
      slot.buffer->floats().subspan(position * transform.elements(), transform.elements());
  try {
    auto read = pictures.Read(request.samples[position], scratch.file);
    if (read.ok()) {
      slot.labels[position] = pictures.label(read->sample);
      if (request.training) {
        transform.ForTraining(read->view, request.epoch, read->sample, scratch.transform, out);
      } else {
        transform.ForEvaluation(read->view, scratch.transform, out);
      }
      prepared.decoded = read->decoded;
      prepared.bad = std::move(read->bad);
    } else {
      prepared.status = read.status();
    }
  } catch (const std::exception& error) {  // no memory for a large picture
    prepared.status =
        InternalError("preparing sample {}: {}", request.samples[position], error.what());
  }
  prepared.cpu_ns = ReadThreadTimes().cpu_ns - cpu_begin_ns;
  return prepared;
}

void BatchLoader::State::Finish(Slot& slot, size_t position, Prepared prepared) {
  if (!prepared.status.ok() && (slot.status.ok() || position < slot.failed_position)) {
    slot.status = std::move(prepared.status);
    slot.failed_position = position;
  }
  std::ranges::move(prepared.bad, std::back_inserter(slot.bad));
  counters.decoded += prepared.decoded ? 1 : 0;
  counters.cache_hits += !prepared.decoded && !pictures.in_memory() ? 1 : 0;
  counters.cpu_ns += prepared.cpu_ns;
  if (++slot.done == slot.size()) ready.NotifyAll();
}

void BatchLoader::State::RunThread() {
  Scratch scratch;
  while (true) {
    std::shared_ptr<Slot> slot;
    size_t position = 0;
    {
      const MutexLock lock(mutex);
      while (!stop && (slot = FindWork()) == nullptr) work.Wait(mutex);
      if (stop) break;
      position = slot->next++;
    }
    Prepared prepared = Prepare(*slot, position, scratch);
    // `slot` goes after the lock, which its memory needs where the batch was forgotten meanwhile.
    const MutexLock lock(mutex);
    Finish(*slot, position, std::move(prepared));
  }
}

/// The whole batch, in the consumer's thread.
void BatchLoader::State::PrepareAll(const std::shared_ptr<Slot>& slot) {
  thread_local Scratch scratch;
  {
    const MutexLock lock(mutex);
    Begin(*slot);
    slot->next = slot->size();
  }
  for (size_t position = 0; position < slot->size(); ++position) {
    Prepared prepared = Prepare(*slot, position, scratch);
    const MutexLock lock(mutex);
    Finish(*slot, position, std::move(prepared));
  }
}

BatchLoader::BatchLoader(const Pictures& pictures, const Transform& transform, BadPictures& bad,
                         const LoaderOptions& options)
    : options_(options), state_(std::make_shared<State>(pictures, transform, options)), bad_(bad) {
  for (int i = 0; i < options.threads; ++i) {
    threads_.emplace_back([state = state_.get()] { state->RunThread(); });
  }
}

BatchLoader::~BatchLoader() {
  {
    const MutexLock lock(state_->mutex);
    state_->stop = true;
    state_->work.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
  Clear();
}

void BatchLoader::Request(BatchRequest request) {
  INTERLUDE_CHECK(!request.samples.empty(), "a batch without samples");
  for (const uint32_t sample : request.samples) {
    INTERLUDE_CHECK(sample < state_->pictures.size(), "sample {} of {}", sample,
                    state_->pictures.size());
  }
  auto slot = std::make_shared<Slot>();
  slot->request = std::move(request);
  const MutexLock lock(state_->mutex);
  state_->slots.push_back(std::move(slot));
  state_->work.NotifyAll();
}

StatusOr<LoadedBatch> BatchLoader::Take() {
  const int64_t begin_ns = NowNs();
  std::shared_ptr<Slot> slot;
  {
    const MutexLock lock(state_->mutex);
    INTERLUDE_CHECK(!state_->slots.empty(), "no batch was asked for");
    slot = state_->slots.front();
  }
  if (threads_.empty()) state_->PrepareAll(slot);
  {
    const MutexLock lock(state_->mutex);
    while (slot->done < slot->size()) state_->ready.Wait(state_->mutex);
    state_->slots.pop_front();
    state_->counters.wait_ns += NowNs() - begin_ns;
  }
  const Status bad = bad_.Add(slot->bad);
  INTERLUDE_RETURN_IF_ERROR(slot->status);
  INTERLUDE_RETURN_IF_ERROR(bad);
  LoadedBatch batch;
  batch.elements_ = slot->size() * state_->transform.elements();
  batch.labels_ = std::move(slot->labels);
  batch.buffer_ = std::move(slot->buffer);
  return batch;
}

void BatchLoader::Clear() {
  std::deque<std::shared_ptr<Slot>> forgotten;  // goes after the lock, which its memory needs
  const MutexLock lock(state_->mutex);
  forgotten.swap(state_->slots);
}

size_t BatchLoader::requested() const {
  const MutexLock lock(state_->mutex);
  return state_->slots.size();
}

LoaderCounters BatchLoader::counters() const {
  const MutexLock lock(state_->mutex);
  return state_->counters;
}

}  // namespace interlude
