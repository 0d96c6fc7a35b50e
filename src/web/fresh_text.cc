#include "web/fresh_text.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "base/hash128.h"
#include "base/log.h"

namespace interlude {
namespace {

// Whatever a library throws: the flag that somebody is making the text must fall again.
StatusOr<int64_t> VersionOf(TextSource& source) {
  try {
    return source.Version();
  } catch (const std::exception& error) {
    return InternalError("looking for a newer text: {}", error.what());
  }
}

FreshText::Result MakeTagged(TextSource& source) {
  try {
    INTERLUDE_ASSIGN_OR_RETURN(std::string text, source.Make());
    const std::string hash = HashBytes(std::as_bytes(std::span(text))).ToHex();
    return std::make_shared<const TaggedText>(TaggedText{std::move(text), "\"" + hash + "\""});
  } catch (const std::exception& error) {
    return InternalError("making the text: {}", error.what());
  }
}

}  // namespace

void FreshText::SetSource(std::unique_ptr<TextSource> source) {
  std::unique_ptr<TextSource> old;  // goes away without the lock
  MutexLock lock(mutex_);
  while (making_) idle_.Wait(mutex_);
  old = std::exchange(source_, std::move(source));
  last_.reset();
  version_.reset();
  idle_.NotifyAll();
}

std::optional<FreshText::Result> FreshText::Ready() {
  while (making_ && !last_) idle_.Wait(mutex_);
  if (source_ == nullptr) return Result(UnavailableError("no run is under way"));
  if (last_ && (making_ || clock_.Now() < due_)) return *last_;
  making_ = true;
  return std::nullopt;
}

FreshText::Made FreshText::Make(TextSource& source, std::optional<int64_t> known_version) const {
  const Nanoseconds begin = clock_.Now();
  // Before the text, so that what is written meanwhile counts as newer.
  const StatusOr<int64_t> version = VersionOf(source);
  if (!version.ok()) return {Result(version.status()), {}, begin + kLeastPause};
  if (known_version == *version) return {std::nullopt, *version, begin};
  Result result = MakeTagged(source);
  const Nanoseconds end = clock_.Now();
  const Nanoseconds pause = std::max(kLeastPause, kPauseFactor * (end - begin));
  const std::optional<int64_t> made = result.ok() ? std::optional(*version) : std::nullopt;
  return {std::move(result), made, end + pause};
}

FreshText::Result FreshText::Get() {
  TextSource* source = nullptr;
  std::optional<int64_t> known_version;
  {
    MutexLock lock(mutex_);
    if (auto ready = Ready()) return *std::move(ready);
    source = source_.get();  // stays while making_ is set
    known_version = version_;
  }
  Made made = Make(*source, known_version);
  if (made.result && !made.result->ok())  // not more often than it is made
    LogWarning("page: {}", made.result->status().message());
  MutexLock lock(mutex_);
  making_ = false;
  idle_.NotifyAll();
  due_ = made.due;
  version_ = made.version;
  if (made.result) last_ = std::move(made.result);
  return *last_;
}

}  // namespace interlude
