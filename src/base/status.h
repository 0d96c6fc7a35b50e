// Status and StatusOr: how everything that can fail at run time says so. Codes are gRPC's.
// Not for programmer errors: those abort through INTERLUDE_CHECK (base/check.h).
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace interlude {

/// Numbers are gRPC's, so that a Status crosses the wire unchanged.
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// The code's name as it is printed, such as "DATA_LOSS".
std::string_view StatusCodeName(StatusCode code);

/// The outcome of an operation. A message says what, which, the limit and what to do.
class [[nodiscard]] Status {
 public:
  /// OK.
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  /// "DATA_LOSS: chunk 3: ..." or "OK".
  std::string ToString() const;

  /// The same code with `context: ` before the message. OK stays OK.
  Status WithContext(std::string_view context) const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }

/// Makes a Status with a formatted message; the format string is checked at compile time.
#define INTERLUDE_DEFINE_STATUS_MAKER(name, code)                                      \
  template <typename... Args>                                                          \
  Status name(fmt::format_string<Args...> format, Args&&... args) {                    \
    return Status(StatusCode::code, fmt::format(format, std::forward<Args>(args)...)); \
  }
INTERLUDE_DEFINE_STATUS_MAKER(CancelledError, kCancelled)
INTERLUDE_DEFINE_STATUS_MAKER(UnknownError, kUnknown)
INTERLUDE_DEFINE_STATUS_MAKER(InvalidArgumentError, kInvalidArgument)
INTERLUDE_DEFINE_STATUS_MAKER(DeadlineExceededError, kDeadlineExceeded)
INTERLUDE_DEFINE_STATUS_MAKER(NotFoundError, kNotFound)
INTERLUDE_DEFINE_STATUS_MAKER(AlreadyExistsError, kAlreadyExists)
INTERLUDE_DEFINE_STATUS_MAKER(PermissionDeniedError, kPermissionDenied)
INTERLUDE_DEFINE_STATUS_MAKER(ResourceExhaustedError, kResourceExhausted)
INTERLUDE_DEFINE_STATUS_MAKER(FailedPreconditionError, kFailedPrecondition)
INTERLUDE_DEFINE_STATUS_MAKER(AbortedError, kAborted)
INTERLUDE_DEFINE_STATUS_MAKER(OutOfRangeError, kOutOfRange)
INTERLUDE_DEFINE_STATUS_MAKER(UnimplementedError, kUnimplemented)
INTERLUDE_DEFINE_STATUS_MAKER(InternalError, kInternal)
INTERLUDE_DEFINE_STATUS_MAKER(UnavailableError, kUnavailable)
INTERLUDE_DEFINE_STATUS_MAKER(DataLossError, kDataLoss)
INTERLUDE_DEFINE_STATUS_MAKER(UnauthenticatedError, kUnauthenticated)
#undef INTERLUDE_DEFINE_STATUS_MAKER

/// A Status for a failed system call: the text of `error_number` (an errno) after the message,
/// the code chosen from it (ENOENT not found, ENOSPC resource exhausted, EACCES permission
/// denied...).
Status ErrnoError(int error_number, std::string_view what);

/// A value, or why there is none. Reading the value of a failed one aborts.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  StatusOr(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    INTERLUDE_CHECK(!status_.ok(), "a StatusOr without a value needs an error");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & {
    INTERLUDE_CHECK(ok(), "value of a failed StatusOr: {}", status_.ToString());
    return *value_;
  }
  const T& value() const& {
    INTERLUDE_CHECK(ok(), "value of a failed StatusOr: {}", status_.ToString());
    return *value_;
  }
  /// By value, so that a loop over `F().value()` does not outlive what it runs over.
  T value() && {
    INTERLUDE_CHECK(ok(), "value of a failed StatusOr: {}", status_.ToString());
    return *std::move(value_);
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

#define INTERLUDE_STATUS_CONCAT_INNER(a, b) a##b
#define INTERLUDE_STATUS_CONCAT(a, b) INTERLUDE_STATUS_CONCAT_INNER(a, b)

/// Returns from the enclosing function when `expr` (a Status) is an error.
#define INTERLUDE_RETURN_IF_ERROR(expr)                                          \
  do {                                                                           \
    if (::interlude::Status error_to_return_ = (expr); !error_to_return_.ok()) { \
      return error_to_return_;                                                   \
    }                                                                            \
  } while (false)

#define INTERLUDE_ASSIGN_OR_RETURN_INNER(temporary, lhs, expr) \
  auto temporary = (expr);                                     \
  if (!temporary.ok()) {                                       \
    return temporary.status();                                 \
  }                                                            \
  lhs = *std::move(temporary)

/// `INTERLUDE_ASSIGN_OR_RETURN(auto x, F());` declares or assigns x, or returns F's error.
#define INTERLUDE_ASSIGN_OR_RETURN(lhs, expr) \
  INTERLUDE_ASSIGN_OR_RETURN_INNER(INTERLUDE_STATUS_CONCAT(status_or_, __LINE__), lhs, expr)

}  // namespace interlude
