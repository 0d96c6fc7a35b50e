#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace interlude {
namespace {

constexpr size_t kWidestBar = 40;
constexpr size_t kNarrowestBar = 5;

std::string FormatRoundNumber(uint32_t round, uint32_t rounds) {
  const std::string all = std::to_string(rounds);
  return fmt::format("round {:>{}}/{}", round, all.size(), all);
}

std::string FormatBar(double share, size_t width) {
  const auto filled = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

std::string Workers(uint32_t count) {
  return fmt::format("{} worker{}", count, count == 1 ? "" : "s");
}

std::string Agreement(const RunOutcome& outcome) {
  const std::string workers = Workers(outcome.workers_at_end);
  if (outcome.workers_lost > 0) {
    return fmt::format("coordinator and the remaining {} ({} lost) agree on {}", workers,
                       outcome.workers_lost, outcome.root_hash);
  }
  if (outcome.workers_at_end == 1)
    return fmt::format("coordinator and its worker agree on {}", outcome.root_hash);
  return fmt::format("coordinator and all {} agree on {}", workers, outcome.root_hash);
}

}  // namespace

std::string FormatCount(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

std::string FormatSeconds(double seconds) {
  if (!(seconds > 0)) return "0 ms";
  if (seconds < 0.000995) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds < 0.00995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 0.0995) return fmt::format("{:.0f} ms", seconds * 1e3);
  return seconds < 99.95 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string FormatRoundLine(const RunObserver::RoundLine& line) {
  const double wall = std::max(line.wall_seconds, 1e-9);
  std::string text = fmt::format(
      "{}  loss {:.3f}  {} samples/s  train {}", FormatRoundNumber(line.round, line.rounds),
      line.mean_loss,
      FormatCount(static_cast<uint64_t>(std::llround(static_cast<double>(line.samples) / wall))),
      FormatSeconds(line.train_seconds));
  if (line.exchange_seconds)
    text += fmt::format("  exchange {}", FormatSeconds(*line.exchange_seconds));
  if (line.evaluate_seconds > 0)
    text += fmt::format("  evaluate {}", FormatSeconds(line.evaluate_seconds));
  const double share = std::clamp(line.train_seconds / wall, 0.0, 1.0);
  return text + fmt::format("  {:.0f} % training", share * 100);
}

std::string FormatLiveBar(const RunObserver::Progress& progress, size_t columns) {
  const bool training = progress.steps_done < progress.steps;
  const uint32_t done = training ? progress.steps_done : progress.chunks_merged;
  const uint32_t all = training ? progress.steps : progress.chunks;
  const std::string head = FormatRoundNumber(progress.round, progress.rounds);
  const std::string tail = fmt::format("{}/{} {}", done, all, training ? "steps" : "chunks merged");
  // A full line would make the terminal wrap, and \r would no longer reach its beginning.
  const size_t room = columns > 0 ? columns - 1 : 0;
  const size_t around = head.size() + tail.size() + 6;  // two gaps, two brackets
  if (room < around + kNarrowestBar) return (head + "  " + tail).substr(0, room);
  const double share = all == 0 ? 0.0 : static_cast<double>(done) / all;
  return head + "  " + FormatBar(share, std::min(kWidestBar, room - around)) + "  " + tail;
}

std::string FormatEvaluation(uint32_t after_rounds, double accuracy, uint64_t samples) {
  return fmt::format("after round {}: test accuracy {:.2f} % of {} samples", after_rounds,
                     accuracy * 100, FormatCount(samples));
}

std::string FormatInvitation(const std::string& address, uint32_t workers,
                             const std::string& host_name, const std::string& proof) {
  const std::string port = address.substr(address.rfind(':'));
  const bool everywhere = address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
  const bool here_only = address.starts_with("127.") || address.starts_with("[::1]:") ||
                         address.starts_with("localhost:");
  return fmt::format(
      "coordinator on {}, waiting for {}; start each with: interlude worker --coordinator {}{}{}",
      address, Workers(workers), everywhere ? host_name + port : address, proof,
      here_only ? " (on this machine only; --listen 0.0.0.0:PORT lets others in)" : "");
}

std::string FormatOutcome(const RunOutcome& outcome, const std::string& directory) {
  std::string text;
  if (outcome.accuracy) {
    text += fmt::format("test accuracy {:.2f} % of {} samples after {} rounds\n",
                        *outcome.accuracy * 100, FormatCount(outcome.test_samples), outcome.rounds);
  }
  if (outcome.synthetic) text += "synthetic training: loss and accuracy are made up\n";
  text += Agreement(outcome) + "\n";
  if (!outcome.model_path.empty()) text += fmt::format("model: {}\n", outcome.model_path);
  if (!outcome.ledger_complete) {
    text += "run.db is incomplete: a part could not be written, the coordinator's log says why\n";
  }
  return text + fmt::format("where the time went: interlude report {}", directory);
}

}  // namespace interlude
