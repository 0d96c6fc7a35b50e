#include "cli/worker_program/ranks.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <list>
#include <optional>
#include <utility>

#include "base/log.h"
#include "cli/app.h"
#include "cli/child_process.h"
#include "cli/exit_codes.h"
#include "cli/programs.h"
#include "config/rank_devices.h"
#include "train/group_trainer.h"
#include "train/trainer_factory.h"

namespace interlude {

namespace {

constexpr int kEndPatienceMs = 5000;

// How it ended, where it does in time.
std::optional<ChildExit> AwaitEnd(ChildProcess& child) {
  pollfd ended = {child.pidfd(), POLLIN, 0};
  poll(&ended, 1, kEndPatienceMs);
  return child.Reap();
}

/// The other ranks' processes and what they share; all of it goes together.
class RankProcesses {
 public:
  ~RankProcesses() {
    for (ChildProcess& child : children_) child.Signal(SIGKILL);
    for (ChildProcess& child : children_) {
      if (!child.running() || AwaitEnd(child)) continue;
      LogWarning("{} (process {}) does not end; its device may hang", child.name(), child.pid());
      // Who waits for its end would hang, too.
      static_cast<void>(new ChildProcess(std::move(child)));
    }
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  Status MakeDirectory() {
    std::error_code error;
    const auto parent = std::filesystem::temp_directory_path(error);
    if (error) return ErrnoError(error.value(), "no directory for temporary files (TMPDIR)");
    std::string path = (parent / "interlude-ranks-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) return ErrnoError(errno, "cannot make " + path);
    directory_ = path;
    return OkStatus();
  }

  const std::string& directory() const { return directory_; }

  /// Its place does not move.
  StatusOr<ChildProcess*> Start(const ChildSpec& spec) {
    INTERLUDE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Start(spec));
    return &children_.emplace_back(std::move(child));
  }

 private:
  std::string directory_;
  std::list<ChildProcess> children_;
};

// What a rank needs to know, in one message.
RankMessage Beginning(const RunConfig& config, WorkerId worker, uint32_t workers, int threads,
                      const RankPlace& place, const std::string& devices) {
  return {.numbers = {static_cast<uint64_t>(worker), workers, static_cast<uint64_t>(threads),
                      place.rank, static_cast<uint64_t>(place.timeout.count())},
          .text = fmt::format("{}\n{}\n{}", devices, place.directory, FormatRunConfig(config))};
}

StatusOr<RankDevices> DevicesOf(const std::string& text, const RunConfig& config) {
  INTERLUDE_ASSIGN_OR_RETURN(std::vector<RankDevices> dealt, DealDevices(text, config, 1));
  return std::move(dealt[0]);
}

struct Begun {
  RunConfig config;
  uint32_t worker = 0;
  uint32_t workers = 0;
  int threads = 1;
  RankPlace place;
};

StatusOr<Begun> ReadBeginning(const RankMessage& message) {
  if (message.numbers.size() != 5) return DataLossError("not the first message to a rank");
  Begun begun{.worker = static_cast<uint32_t>(message.numbers[0]),
              .workers = static_cast<uint32_t>(message.numbers[1]),
              .threads = static_cast<int>(message.numbers[2])};
  const size_t first = message.text.find('\n');
  const size_t second = message.text.find('\n', first + 1);
  INTERLUDE_ASSIGN_OR_RETURN(begun.config,
                             ParseRunConfig(message.text.substr(second + 1), "rank 0's message"));
  INTERLUDE_ASSIGN_OR_RETURN(begun.place.devices,
                             DevicesOf(message.text.substr(0, first), begun.config));
  begun.place.rank = static_cast<uint32_t>(message.numbers[3]);
  begun.place.directory = message.text.substr(first + 1, second - first - 1);
  begun.place.timeout = Nanoseconds(static_cast<int64_t>(message.numbers[4]));
  return begun;
}

std::string HowItEnded(ChildProcess& child) {
  const auto how = AwaitEnd(child);
  return how ? how->ToString() : "it has closed its channel and still runs";
}

StatusOr<RankLink> StartRank(const std::shared_ptr<RankProcesses>& processes,
                             const RankPlace& place, const RankMessage& beginning) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  INTERLUDE_ASSIGN_OR_RETURN(auto ends, RankChannel::MakePair());
  const std::string name = fmt::format("rank {} ({})", place.rank, place.device());
  INTERLUDE_ASSIGN_OR_RETURN(
      ChildProcess * child,
      processes->Start({.name = name,
                        .arguments = {program, "rank", std::to_string(ends.second.fd())},
                        .inherited_fd = ends.second.fd()}));
  RankLink link{
      .name = fmt::format("rank {} ({}, process {})", place.rank, place.device(), child->pid()),
      .channel = std::move(ends.first),
      .how_it_ended = [processes, child] { return HowItEnded(*child); }};
  INTERLUDE_RETURN_IF_ERROR(link.channel.Send(beginning));
  return link;
}

/// Rank 0's trainer over `place.devices`.
StatusOr<std::unique_ptr<LocalTrainer>> Create(const RunConfig& config, WorkerId worker,
                                               uint32_t workers, int threads, RankPlace place,
                                               const std::string& devices) {
  const auto processes = std::make_shared<RankProcesses>();
  INTERLUDE_RETURN_IF_ERROR(processes->MakeDirectory());
  place.directory = processes->directory();
  INTERLUDE_ASSIGN_OR_RETURN(std::unique_ptr<RankGroup> group, CreateRankGroup(place));
  std::vector<RankLink> others;
  for (uint32_t rank = 1; rank < place.ranks(); ++rank) {
    RankPlace other = place;
    other.rank = rank;
    INTERLUDE_ASSIGN_OR_RETURN(
        RankLink link,
        StartRank(processes, other, Beginning(config, worker, workers, threads, other, devices)));
    others.push_back(std::move(link));
  }
  RunConfig own_config = config;
  own_config.train.device = place.device();
  INTERLUDE_ASSIGN_OR_RETURN(auto own, CreateTorchTrainer(own_config, static_cast<uint32_t>(worker),
                                                          workers, threads, group.get()));
  return CreateGroupTrainer(std::move(group), std::move(own), std::move(others), place.timeout);
}

Status Serve(RankChannel& channel) {
  INTERLUDE_ASSIGN_OR_RETURN(const RankMessage message, channel.Receive());
  INTERLUDE_ASSIGN_OR_RETURN(Begun begun, ReadBeginning(message));
  InitLog(fmt::format("worker {} rank {}", begun.worker, begun.place.rank));
  begun.config.train.device = begun.place.device();
  LogInfo("process {} trains on {}; threads: {}", ::getpid(), begun.place.device(), begun.threads);
  INTERLUDE_ASSIGN_OR_RETURN(const std::unique_ptr<RankGroup> group, CreateRankGroup(begun.place));
  return ServeRank(
      channel, *group,
      CreateTorchTrainer(begun.config, begun.worker, begun.workers, begun.threads, group.get()));
}

}  // namespace

StatusOr<std::unique_ptr<LocalTrainer>> CreateRankedTrainer(const RunConfig& config,
                                                            WorkerId worker, uint32_t workers,
                                                            int threads,
                                                            const RankOptions& options) {
  RankPlace place{.timeout = std::chrono::seconds(options.timeout_s)};
  INTERLUDE_ASSIGN_OR_RETURN(place.devices, DevicesOf(options.devices, config));
  if (place.ranks() == 1) {
    RunConfig own_config = config;
    own_config.train.device = place.device();
    return CreateTorchTrainer(own_config, static_cast<uint32_t>(worker), workers, threads);
  }
  const int own_threads = std::max(1, threads / static_cast<int>(place.ranks()));
  LogInfo("this worker is {} processes, on {}; threads of each: {}", place.ranks(),
          fmt::join(place.devices, ", "), own_threads);
  return Create(config, worker, workers, own_threads, std::move(place), options.devices);
}

int RunRank(int argc, char** argv) {
  InitLog("rank");
  int fd = -1;
  const char* end = argc == 2 ? argv[1] + strlen(argv[1]) : nullptr;
  if (end == nullptr || std::from_chars(argv[1], end, fd).ptr != end || fd < 0)
    return Fail(InvalidArgumentError("rank is called by interlude-worker --devices alone"),
                kExitUsage);
  signal(SIGPIPE, SIG_IGN);
  // Rank 0 decides when to stop; this process ends with it.
  for (const int stop : {SIGINT, SIGTERM, SIGHUP}) signal(stop, SIG_IGN);
  RankChannel channel(fd);
  const Status status = Serve(channel);
  if (!status.ok()) LogError("{}", status.message());
  // Not through main's end: a device that hangs would keep the process.
  std::fflush(nullptr);
  _exit(status.ok() ? kExitOk : kExitFailed);
}

}  // namespace interlude
