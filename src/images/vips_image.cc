#include "images/vips_image.h"

#include <mutex>
#include <shared_mutex>

namespace interlude {
namespace {

/// libvips keeps buffers for each thread that used it; they go when the thread ends.
struct ThreadEnd {
  ~ThreadEnd() { vips_thread_shutdown(); }
};

/// Its warnings are about files that the caller names itself.
void DropLog(const gchar*, GLogLevelFlags, const gchar*, gpointer) {}

/// False where libvips cannot start.
bool StartVips() {
  static const bool started = [] {
    if (vips_init("interlude") != 0) return false;
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    g_log_set_handler("VIPS", static_cast<GLogLevelFlags>(G_LOG_LEVEL_WARNING | G_LOG_LEVEL_INFO),
                      DropLog, nullptr);
    return true;
  }();
  return started;
}

/// One line, without the line end that every message has.
std::string TakeMessage() {
  std::string text = vips_error_buffer();
  vips_error_clear();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ';' : c;
  constexpr size_t kMost = 300;
  if (text.size() > kMost) text.resize(kMost);
  return text.empty() ? "libvips gave no reason" : text;
}

}  // namespace

Status WithVips(const std::function<bool()>& body) {
  if (!StartVips()) return InternalError("libvips does not start: {}", TakeMessage());
  thread_local const ThreadEnd thread_end;
  static std::mutex door;  // closed while somebody waits to be alone: none would let it in else
  static std::shared_mutex mutex;
  {
    std::unique_lock entry(door);
    const std::shared_lock lock(mutex);
    entry.unlock();
    if (body()) return OkStatus();
  }
  const std::lock_guard entry(door);
  const std::unique_lock lock(mutex);
  vips_error_clear();
  if (body()) return OkStatus();
  const std::string message = TakeMessage();
  // libvips says so of its own allocations. That is no fault of the file.
  if (message.find("out of memory") != std::string::npos) {
    return ResourceExhaustedError("libvips: {}", message);
  }
  return DataLossError("{}", message);
}

}  // namespace interlude
