#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace interlude {
namespace {

TEST(Status, SaysItsCodeAndMessage) {
  EXPECT_TRUE(OkStatus().ok());
  EXPECT_EQ(OkStatus().ToString(), "OK");
  const Status status = DataLossError("chunk {}: {} bytes, wanted {}", 3, 10, 12);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.ToString(), "DATA_LOSS: chunk 3: 10 bytes, wanted 12");
}

TEST(Status, ContextGoesBeforeTheMessageAndKeepsTheCode) {
  EXPECT_EQ(NotFoundError("no file").WithContext("worker 2").ToString(),
            "NOT_FOUND: worker 2: no file");
  EXPECT_TRUE(OkStatus().WithContext("worker 2").ok());
}

TEST(Status, MakersCarryTheirCodesWithGrpcsNumbers) {
  EXPECT_EQ(static_cast<int>(CancelledError("x").code()), 1);
  EXPECT_EQ(static_cast<int>(UnknownError("x").code()), 2);
  EXPECT_EQ(static_cast<int>(InvalidArgumentError("x").code()), 3);
  EXPECT_EQ(static_cast<int>(DeadlineExceededError("x").code()), 4);
  EXPECT_EQ(static_cast<int>(NotFoundError("x").code()), 5);
  EXPECT_EQ(static_cast<int>(AlreadyExistsError("x").code()), 6);
  EXPECT_EQ(static_cast<int>(PermissionDeniedError("x").code()), 7);
  EXPECT_EQ(static_cast<int>(ResourceExhaustedError("x").code()), 8);
  EXPECT_EQ(static_cast<int>(FailedPreconditionError("x").code()), 9);
  EXPECT_EQ(static_cast<int>(AbortedError("x").code()), 10);
  EXPECT_EQ(static_cast<int>(OutOfRangeError("x").code()), 11);
  EXPECT_EQ(static_cast<int>(UnimplementedError("x").code()), 12);
  EXPECT_EQ(static_cast<int>(InternalError("x").code()), 13);
  EXPECT_EQ(static_cast<int>(UnavailableError("x").code()), 14);
  EXPECT_EQ(static_cast<int>(DataLossError("x").code()), 15);
  EXPECT_EQ(static_cast<int>(UnauthenticatedError("x").code()), 16);
}

TEST(Status, ASystemCallsErrorHasItsTextAndAFittingCode) {
  EXPECT_EQ(ErrnoError(ENOENT, "opening a").ToString(),
            "NOT_FOUND: opening a: No such file or directory");
  EXPECT_EQ(ErrnoError(ENOSPC, "a").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoError(EACCES, "a").code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(ErrnoError(EEXIST, "a").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(ErrnoError(EINVAL, "a").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrnoError(EIO, "a {braces}").ToString(), "UNKNOWN: a {braces}: Input/output error");
}

StatusOr<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgumentError("{} is odd", value);
  return value / 2;
}

StatusOr<int> Quarter(int value) {
  INTERLUDE_ASSIGN_OR_RETURN(const int half, Half(value));
  INTERLUDE_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

Status CheckBoth(int first, int second, int& reached) {
  INTERLUDE_RETURN_IF_ERROR(Half(first).status());
  ++reached;
  INTERLUDE_RETURN_IF_ERROR(Half(second).status());
  ++reached;
  return OkStatus();
}

TEST(StatusOr, MacrosReturnTheFirstErrorAndElseTheValue) {
  EXPECT_EQ(Quarter(12).value(), 3);
  EXPECT_EQ(Quarter(6).status().message(), "3 is odd");
  EXPECT_EQ(Quarter(5).status().message(), "5 is odd");
  int reached = 0;
  EXPECT_EQ(CheckBoth(2, 3, reached).message(), "3 is odd");
  EXPECT_EQ(reached, 1);
  EXPECT_TRUE(CheckBoth(2, 4, reached).ok());
  EXPECT_EQ(reached, 3);
}

/// A member of the macro's class must be reachable inside the macro.
class KeepsStatus {
 public:
  explicit KeepsStatus(Status status) : status_(std::move(status)) {}
  Status Check() const {
    INTERLUDE_RETURN_IF_ERROR(status_);
    return OkStatus();
  }

 private:
  Status status_;
};

TEST(StatusOr, TheMacroHidesNoMemberNamedStatus) {
  EXPECT_EQ(KeepsStatus(AbortedError("kept")).Check().message(), "kept");
}

TEST(StatusOr, ValuesThatOnlyMoveMoveOut) {
  StatusOr<std::unique_ptr<int>> holder(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = *std::move(holder);
  EXPECT_EQ(*taken, 7);
}

TEST(StatusOrDeathTest, ReadingAMissingValueAborts) {
  const StatusOr<int> failed = Half(1);
  EXPECT_DEATH((void)failed.value(), "value of a failed StatusOr: INVALID_ARGUMENT: 1 is odd");
  EXPECT_DEATH(static_cast<void>(StatusOr<int>{OkStatus()}), "needs an error");
}

TEST(CheckDeathTest, AFailedCheckNamesPlaceConditionAndMessage) {
  EXPECT_DEATH(INTERLUDE_CHECK(1 > 2, "limit {}", 5),
               "status_test.cc:[0-9]+: check failed: 1 > 2: limit 5");
}

}  // namespace
}  // namespace interlude
