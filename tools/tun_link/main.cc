// tun_link: joins two network namespaces by a line with a delay, a rate and losses, that can fall
// silent. For tests of what a long line does, where the kernel has no netem. Everything passes one
// thread; stdin takes commands and its end is the line's end.
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <optional>
#include <sstream>

#include "base/clock.h"
#include "tools/tun_link/delay_line.h"
#include "tools/tun_link/tun_device.h"

namespace interlude {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLargestPacket = 65536;
constexpr int kPacketsAtOnce = 64;

constexpr char kCommands[] =
    "Commands, one a line on stdin, each answered by a line:\n"
    "  silent                       nothing passes any more\n"
    "  open                         it passes again\n"
    "  loss P                       the probability of a loss from now on\n"
    "  rate MBIT                    of each direction from now on; 0: no limit\n"
    "  delay MS                     one way, from now on\n"
    "  silent-for MS after BYTES    once so many more bytes of the second end have come out at "
    "the\n"
    "                               first; says 'silent' and 'open' when that is\n"
    "  counts                       packets so far\n"
    "The end of stdin ends it. The devices are gone with the process.";

class Link {
 public:
  Link(int first, int second, const LineSettings& there, const LineSettings& back, uint64_t seed)
      : descriptors_{first, second},
        lines_{DelayLine(there, Mix64(seed)), DelayLine(back, Mix64(seed + 1))} {}

  /// Until stdin ends.
  void Run() {
    Say("up");
    while (!ended_) {
      const Nanoseconds now = SystemClock().Now();
      KeepSilence(now);
      bool more = false;
      for (int from : {0, 1}) {
        Deliver(from, now);
        more |= TakeIn(from);
      }
      if (!more) Wait();
    }
  }

 private:
  // What entered at end `from` and is due leaves at the other.
  void Deliver(int from, Nanoseconds now) {
    while (lines_[from].Due(now)) {
      const DelayLine::Packet packet = lines_[from].Leave();
      // A device whose queue is full drops it, as a network card would.
      if (write(descriptors_[1 - from], packet.data(), packet.size()) < 0) ++refused_;
      if (from == 1) CountDown(now, packet.size());
    }
  }

  // True when there may be more to read.
  bool TakeIn(int from) {
    for (int i = 0; i < kPacketsAtOnce; ++i) {
      const ssize_t size = read(descriptors_[from], buffer_, sizeof buffer_);
      if (size <= 0) {
        // Not when it has nothing to read, but when its namespace was taken away.
        ended_ |= size < 0 && errno == EBADFD;
        return false;
      }
      lines_[from].Enter(SystemClock().Now(), DelayLine::Packet(buffer_, buffer_ + size));
    }
    return true;
  }

  void Wait() {
    const Nanoseconds next = std::min({lines_[0].NextDue(), lines_[1].NextDue(), open_at_});
    const Nanoseconds left = std::max(next - SystemClock().Now(), Nanoseconds{0});
    const timespec timeout{left / std::chrono::seconds(1),
                           (left % std::chrono::seconds(1)).count()};
    pollfd waits[] = {
        {descriptors_[0], POLLIN, 0}, {descriptors_[1], POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    ppoll(waits, 3, next == Nanoseconds::max() ? nullptr : &timeout, nullptr);
    if (waits[2].revents != 0) ReadCommands();
  }

  void ReadCommands() {
    char text[4096];
    const ssize_t size = read(STDIN_FILENO, text, sizeof text);
    if (size <= 0) {
      ended_ = size == 0 || errno != EINTR;
      return;
    }
    unfinished_.append(text, static_cast<size_t>(size));
    for (size_t end; (end = unfinished_.find('\n')) != std::string::npos;) {
      Obey(unfinished_.substr(0, end));
      unfinished_.erase(0, end + 1);
    }
  }

  void Obey(const std::string& line) {
    std::istringstream words(line);
    std::string command, after;
    words >> command;
    int64_t number = 0;
    double value = 0;
    if (command == "silent" || command == "open") {
      SetSilent(command == "silent");
      open_at_ = Nanoseconds::max();
    } else if (command == "loss" && words >> value && value >= 0 && value <= 1) {
      for (DelayLine& direction : lines_) direction.SetLoss(value);
      Say(line);
    } else if (command == "rate" && words >> value && value >= 0 && value <= 1e6) {
      for (DelayLine& direction : lines_) direction.SetRate(value);
      Say(line);
    } else if (command == "delay" && words >> value && value >= 0 && value <= 1e5) {
      for (DelayLine& direction : lines_)
        direction.SetDelay(Nanoseconds(static_cast<int64_t>(value * 1e6)));
      Say(line);
    } else if (command == "silent-for" && words >> number && number >= 0 && words >> after &&
               after == "after" && words >> bytes_until_silence_) {
      silence_ = milliseconds(number);
      armed_ = true;
      Say("armed");
    } else if (command == "counts") {
      SayCounts();
    } else {
      Say("not understood: " + line);
    }
  }

  void CountDown(Nanoseconds now, uint64_t bytes) {
    if (!armed_) return;
    bytes_until_silence_ -= std::min(bytes, bytes_until_silence_);
    if (bytes_until_silence_ > 0) return;
    armed_ = false;
    open_at_ = now + silence_;
    SetSilent(true);
  }

  void KeepSilence(Nanoseconds now) {
    if (now < open_at_) return;
    open_at_ = Nanoseconds::max();
    SetSilent(false);
  }

  void SetSilent(bool silent) {
    for (DelayLine& direction : lines_) direction.SetSilent(silent);
    Say(silent ? "silent" : "open");
  }

  void SayCounts() const {
    std::ostringstream text;
    text << "counts";
    for (int from : {0, 1}) {
      const DelayLine::Counts& counts = lines_[from].counts();
      text << (from == 0 ? " there " : " back ") << counts.entered << " packets "
           << counts.entered_bytes << " bytes " << counts.lost << " lost " << counts.overflowed
           << " overflowed " << counts.silenced << " silenced";
    }
    text << " refused " << refused_;
    Say(text.str());
  }

  static void Say(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
  }

  int descriptors_[2];
  DelayLine lines_[2];  // by the end at which it begins
  char buffer_[kLargestPacket];
  uint64_t refused_ = 0;
  bool ended_ = false;
  std::string unfinished_;  // of a command
  bool armed_ = false;
  uint64_t bytes_until_silence_ = 0;
  Nanoseconds silence_{0};
  Nanoseconds open_at_ = Nanoseconds::max();  // when a silence is over by itself
};

int Main(int argc, char** argv) {
  CLI::App app("Joins two network namespaces by a line with a delay, a rate and losses.");
  std::string ends[2];
  double delay_ms = 0, queue_ms = 50;
  std::optional<double> back_rate_mbit;
  uint64_t seed = 1;
  LineSettings settings;
  app.add_option("first", ends[0], "NAMESPACE:DEVICE:ADDRESS")->required();
  app.add_option("second", ends[1], "NAMESPACE:DEVICE:ADDRESS")->required();
  app.add_option("--delay-ms", delay_ms, "One way")->check(CLI::Range(0.0, 1e5));
  app.add_option("--rate-mbit", settings.rate_mbit, "Of each direction; 0: no limit")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--back-rate-mbit", back_rate_mbit,
                 "From the second end to the first, where that is another")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--queue-ms", queue_ms, "Longest wait for a turn")->check(CLI::Range(0.0, 1e5));
  app.add_option("--loss", settings.loss, "Probability")->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", seed, "Of the losses");
  app.footer(kCommands);
  CLI11_PARSE(app, argc, argv);
  settings.delay = Nanoseconds(static_cast<int64_t>(delay_ms * 1e6));
  settings.queue = Nanoseconds(static_cast<int64_t>(queue_ms * 1e6));

  int descriptors[2];
  for (int i : {0, 1}) {
    const StatusOr<TunEnd> end = TunEnd::Parse(ends[i]);
    const StatusOr<int> device = end.ok() ? OpenTun(*end) : StatusOr<int>(end.status());
    if (!device.ok()) {
      std::fprintf(stderr, "tun_link: %s\n", device.status().ToString().c_str());
      return 1;
    }
    descriptors[i] = *device;
  }
  LineSettings back = settings;
  back.rate_mbit = back_rate_mbit.value_or(settings.rate_mbit);
  prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; packets are due to the microsecond
  Link(descriptors[0], descriptors[1], settings, back, seed).Run();
  return 0;
}

}  // namespace
}  // namespace interlude

int main(int argc, char** argv) { return interlude::Main(argc, argv); }
