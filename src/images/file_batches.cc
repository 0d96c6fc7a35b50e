#include "images/file_batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace interlude {
namespace {

DataPart PartOf(std::vector<std::string> files) {
  DataPart part;
  part.labels.resize(files.size());
  part.files = std::move(files);
  return part;
}

}  // namespace

FileBatches::FileBatches(std::vector<std::string> files, DecodeFunction decode,
                         const Transform& transform, uint32_t batch, const LoaderOptions& options)
    : part_(PartOf(std::move(files))),
      decode_(std::move(decode)),
      pictures_(part_, [this](const std::string& path, Picture& out) { return Decode(path, out); }),
      loader_(pictures_, transform, never_bad_, options),
      batch_(batch) {
  for (uint32_t ahead = 0; ahead <= options.prefetch; ++ahead) Request();
}

/// A picture without meaning keeps the place of one that cannot be read.
Status FileBatches::Decode(const std::string& path, Picture& out) {
  Status status = decode_(path, out);
  if (status.ok()) return status;
  out.Reshape(1, 1, 1);
  out.bytes[0] = 0;
  const MutexLock lock(mutex_);
  bad_.insert_or_assign(path, std::move(status));
  return OkStatus();
}

void FileBatches::Request() {
  const size_t count = std::min<size_t>(batch_, part_.files.size() - requested_);
  if (count == 0) return;
  BatchRequest request{.training = false};
  request.samples.resize(count);
  std::iota(request.samples.begin(), request.samples.end(), static_cast<uint32_t>(requested_));
  requested_ += count;
  loader_.Request(std::move(request));
}

StatusOr<FileBatch> FileBatches::Next() {
  INTERLUDE_ASSIGN_OR_RETURN(LoadedBatch pictures, loader_.Take());
  Request();
  FileBatch batch{.first = next_, .pictures = std::move(pictures)};
  next_ += batch.pictures.labels().size();
  const MutexLock lock(mutex_);
  for (size_t file = batch.first; file < next_; ++file) {
    const auto bad = bad_.find(part_.files[file]);
    batch.statuses.push_back(bad == bad_.end() ? OkStatus() : bad->second);
  }
  return batch;
}

}  // namespace interlude
