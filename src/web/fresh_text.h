// A text that is costly to make, made again only when what it says has changed and not too often:
// the report of a run that goes on. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace interlude {

struct TaggedText {
  std::string text;
  std::string tag;  // a hash of the text in quotes, as HTTP has entity tags
};

/// Where a text comes from. One thread at a time.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// Another number when the text would be another one.
  virtual StatusOr<int64_t> Version() = 0;
  virtual StatusOr<std::string> Make() = 0;
};

class FreshText {
 public:
  /// At least this long between the end of one making and the begin of the next.
  static constexpr Nanoseconds kLeastPause = std::chrono::seconds(1);
  /// And at least so many times what the last one took: at most a tenth of one CPU goes into
  /// each text.
  static constexpr int kPauseFactor = 9;

  explicit FreshText(const Clock& clock) : clock_(clock) {}

  /// Null: there is no text. Returns when nothing of the source before is in use any more, which is
  /// then gone: it waits for at most one making.
  void SetSource(std::unique_ptr<TextSource> source);

  using Result = StatusOr<std::shared_ptr<const TaggedText>>;
  /// The text as it is, or was at most a pause ago. Makes it on this thread when it must; who asks
  /// meanwhile gets the one before, or waits when there is none. Unavailable without a source, else
  /// the source's errors.
  Result Get();

 private:
  struct Made {
    std::optional<Result> result;    // absent: the one before still holds
    std::optional<int64_t> version;  // absent: not known
    Nanoseconds due{0};
  };
  /// What needs no making; else the caller is the one who makes it.
  std::optional<Result> Ready() INTERLUDE_REQUIRES(mutex_);
  Made Make(TextSource& source, std::optional<int64_t> known_version) const;

  const Clock& clock_;
  Mutex mutex_;
  CondVar idle_;
  bool making_ INTERLUDE_GUARDED_BY(mutex_) = false;
  std::unique_ptr<TextSource> source_ INTERLUDE_GUARDED_BY(mutex_);
  std::optional<Result> last_ INTERLUDE_GUARDED_BY(mutex_);
  std::optional<int64_t> version_ INTERLUDE_GUARDED_BY(mutex_);  // of last_
  Nanoseconds due_ INTERLUDE_GUARDED_BY(mutex_){0};
};

}  // namespace interlude
