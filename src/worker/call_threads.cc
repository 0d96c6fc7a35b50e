#include "worker/call_threads.h"

#include <chrono>
#include <optional>
#include <thread>

#include "base/queue.h"

namespace interlude {
namespace {

constexpr std::chrono::milliseconds kAskEvery{100};

}  // namespace

Status RunTogether(const std::vector<std::function<Status()>>& parts,
                   const std::function<bool()>& keep_going, const std::function<void()>& give_up) {
  Queue<Status> finished(parts.size());
  std::vector<std::thread> threads;
  threads.reserve(parts.size());
  for (const auto& part : parts)
    threads.emplace_back([&finished, &part] { finished.Push(part()); });

  Status first_failure;
  const auto fail = [&](Status status) {
    if (!first_failure.ok()) return;
    first_failure = std::move(status);
    give_up();
  };
  for (size_t running = parts.size(); running > 0;) {
    const std::optional<Status> status = finished.PopFor(kAskEvery);
    if (status.has_value()) {
      --running;
      if (!status->ok()) fail(*status);
    } else if (first_failure.ok() && !keep_going()) {
      fail(CancelledError("the exchange was given up"));
    }
  }
  for (std::thread& thread : threads) thread.join();
  return first_failure;
}

}  // namespace interlude
