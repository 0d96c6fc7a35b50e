// The pictures of one part of a data set, read one by one from any thread: those in memory as they
// are, files by a decoder, with a cache and a rule for files that cannot be read.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/memory_account.h"
#include "base/mutex.h"
#include "base/status.h"
#include "images/data_set.h"
#include "images/picture.h"

namespace interlude {

/// Decodes the file at a path. Any thread.
using DecodeFunction = std::function<Status(const std::string& path, Picture& out)>;

/// How much a cache may keep.
struct CacheLimits {
  uint64_t bytes = 0;
  /// Asked before so many bytes more are taken, if given. Any thread.
  std::function<bool(uint64_t bytes)> may_grow;
};

/// Decoded pictures by number, in slabs, until the budget is used up; what is in stays, so that
/// which picture is where never depends on the order in which they are asked for twice. Any thread.
class PictureCache {
 public:
  /// For samples 0...samples - 1. 0 bytes: keeps nothing.
  PictureCache(uint64_t samples, CacheLimits limits);
  PictureCache(const PictureCache&) = delete;
  PictureCache& operator=(const PictureCache&) = delete;

  /// The picture, as long as the cache lives; a view without data where it is not kept.
  PictureView Find(uint64_t sample) const;
  /// Keeps a copy if it fits.
  void Keep(uint64_t sample, const PictureView& picture);

 private:
  mutable Mutex mutex_;
  const uint64_t budget_;
  const std::function<bool(uint64_t bytes)> may_grow_;
  uint64_t used_ INTERLUDE_GUARDED_BY(mutex_) = 0;  // of the budget, whole slabs
  uint64_t room_ INTERLUDE_GUARDED_BY(mutex_) = 0;  // in the last slab
  std::vector<Buffer> slabs_ INTERLUDE_GUARDED_BY(mutex_);
  std::vector<PictureView> pictures_ INTERLUDE_GUARDED_BY(mutex_);
};

/// A picture that could not be read, and why.
struct BadPicture {
  uint64_t sample = 0;
  std::string reason;  // begins with the path
};

/// What a read gave.
struct ReadPicture {
  PictureView view;
  uint64_t sample = 0;  // whose picture and label it is: the one asked for, or the next good one
  bool decoded = false;
  std::vector<BadPicture> bad;  // those passed over, the one asked for first
};

/// Immutable but for the cache. The data outlives it.
class Pictures {
 public:
  /// `decode` is not used where the part is in memory.
  Pictures(const DataPart& part, DecodeFunction decode, CacheLimits cache = {});

  uint64_t size() const { return part_.size(); }
  uint32_t label(uint64_t sample) const { return part_.labels[sample]; }
  bool in_memory() const { return part_.files.empty(); }

  /// The picture of `sample`; if its file cannot be read, of the next one (after the last comes the
  /// first) whose file can. Which one follows from the files alone. The view lies in `scratch`, the
  /// cache or the part. DataLoss after kMostInARow bad ones, with the last reason; what else went
  /// wrong than a bad file (DataLoss, NotFound, PermissionDenied, OutOfRange) as it is.
  StatusOr<ReadPicture> Read(uint64_t sample, Picture& scratch) const;

  static constexpr uint64_t kMostInARow = 100;

 private:
  const DataPart& part_;
  const DecodeFunction decode_;
  mutable PictureCache cache_;
};

/// Bad pictures of a part, each counted and logged once; an error when they are too many. One
/// thread at a time.
class BadPictures {
 public:
  /// `share` of `samples`, rounded down, may be bad.
  BadPictures(uint64_t samples, double share);

  /// DataLoss that names the first ones (by number) when there are now too many.
  Status Add(std::span<const BadPicture> bad);
  uint64_t count() const { return seen_.size(); }

 private:
  const uint64_t samples_;
  const double share_;
  const uint64_t allowed_;
  std::vector<BadPicture> seen_;  // by number
};

}  // namespace interlude
