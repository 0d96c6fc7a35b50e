// Any picture files as evaluation sees them, batch by batch in their order, decoded ahead by
// threads. Unlike in a data set, nothing stands in for a file that cannot be read: it is said which
// and why.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "images/batch_loader.h"
#include "images/data_set.h"
#include "images/pictures.h"
#include "images/transform.h"

namespace interlude {

/// A batch of files; what stands in `pictures` for one that cannot be read means nothing.
struct FileBatch {
  size_t first = 0;              // the number of its first file
  std::vector<Status> statuses;  // of each file; the path begins a message
  LoadedBatch pictures;
};

/// One thread at a time. Memory: as BatchLoader, and nothing is cached.
class FileBatches {
 public:
  /// Of `batch` (at least 1) files each, the last may be smaller. `transform` outlives it.
  FileBatches(std::vector<std::string> files, DecodeFunction decode, const Transform& transform,
              uint32_t batch, const LoaderOptions& options);

  const std::vector<std::string>& files() const { return part_.files; }
  bool done() const { return next_ == part_.files.size(); }
  /// Waits for the next batch; the one before should be gone. There is one.
  StatusOr<FileBatch> Next();

 private:
  Status Decode(const std::string& path, Picture& out);
  void Request();

  DataPart part_;
  const DecodeFunction decode_;
  const Pictures pictures_;
  Mutex mutex_;
  std::map<std::string, Status> bad_ INTERLUDE_GUARDED_BY(mutex_);  // by path
  BadPictures never_bad_{0, 0};                                     // Decode lets none through
  BatchLoader loader_;
  const uint32_t batch_;
  size_t requested_ = 0;  // files
  size_t next_ = 0;
};

}  // namespace interlude
