// `interlude doctor` as a whole: looks at this machine and at the way to a coordinator, and says
// what will cost a run time. Needs no root, leaves nothing behind, takes some seconds. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "doctor/check.h"
#include "doctor/cpu_checks.h"
#include "doctor/model_need.h"
#include "worker/worker.h"

namespace interlude {

struct DoctorOptions {
  Job job;
  std::string directory = ".";  // of a run, were this machine its coordinator
  /// How a worker would reach its coordinator; nothing: the way there is not looked at.
  std::optional<WorkerOptions> coordinator;
  /// What interlude-worker says of its BLAS (CheckBlas), or why it says nothing.
  std::function<StatusOr<std::string>()> ask_blas;
  Environment environment;
  std::string root;  // before /proc and /sys, for tests
};

/// All checks, in the order in which they are shown. What cannot be read is a check of its own,
/// graded unknown.
Checks Examine(const DoctorOptions& options);

}  // namespace interlude
