// The figures of an exchange as text.
#include <fmt/format.h>

#include "base/human_text.h"
#include "bench/exchange_figures.h"
#include "report/table.h"

namespace interlude {
namespace {

std::string Speed(double bytes_per_second) {
  return fmt::format("{:.2f} GB/s", bytes_per_second / 1e9);
}

std::string OrDash(const std::optional<double>& seconds) {
  return seconds ? HumanSeconds(*seconds) : "-";
}

std::string Machine(const ExchangeFigures& figures) {
  return fmt::format(
      "{}; load average {:.1f}\n"
      "memcpy, {} threads, read + written: {} before the runs, {} after them; read: {}, {}\n"
      "raw TCP over loopback into memory: {}; disk write: {}\n",
      figures.machine.ToString(), figures.machine.load_average, figures.machine.usable_cores,
      Speed(figures.memory_before.copy), Speed(figures.memory_after.copy),
      Speed(figures.memory_before.read), Speed(figures.memory_after.read),
      Speed(figures.tcp_loopback), Speed(figures.disk_write));
}

std::string Bound(const ExchangeFigures& figures) {
  const auto stages = ExchangeBytes(figures.config, figures.workers);
  Table table({"stage", "what is touched", "read", "written", "sum", "memcpy needs"}, 2);
  const auto bytes = [](uint64_t count) { return HumanBytes(static_cast<double>(count)); };
  for (const TouchedBytes& stage : stages) {
    table.Add({stage.stage, stage.count, bytes(stage.read), bytes(stage.written),
               bytes(stage.total()),
               HumanSeconds(static_cast<double>(stage.total()) / figures.copy_speed())});
  }
  table.Add({"all", "", "", "", bytes(SumOf(stages)), HumanSeconds(figures.bound_seconds())});
  return "Bytes that the exchange must touch, counted as memcpy's (read + written), all processes "
         "together:\n" +
         table.ToString();
}

/// What memcpy, or for what is sent raw TCP, needs for a stage; nothing for what is neither.
std::optional<double> BoundOf(const ExchangeFigures& figures, const std::string& stage) {
  const double sent =
      static_cast<double>(ModelPayloadBytes(figures.config)) * static_cast<double>(figures.workers);
  if (stage == "upload" || stage == "download") return sent / figures.tcp_loopback;
  for (const TouchedBytes& touched : ExchangeBytes(figures.config, figures.workers)) {
    if (touched.stage == stage) return static_cast<double>(touched.total()) / figures.copy_speed();
  }
  return std::nullopt;
}

std::string StageTable(const ExchangeFigures& figures, const ModeFigures& mode) {
  Table table({"stage", "from begin to end", "busy", "cpu, all", "bound", "busy / bound"}, 1);
  for (const std::string& stage : StageNames()) {
    const auto typical = [&](double StageTime::*field) {
      return mode.summary.Typical([&](const ExchangeRound& round) -> std::optional<double> {
        const auto time = StageOf(round, stage);
        return time ? std::optional((*time).*field) : std::nullopt;
      });
    };
    const auto busy = typical(&StageTime::busy_seconds);
    if (!busy) continue;
    const auto bound = BoundOf(figures, stage);
    table.Add({stage, OrDash(typical(&StageTime::inside_seconds)), OrDash(busy),
               OrDash(typical(&StageTime::cpu_seconds)), OrDash(bound),
               bound ? fmt::format("{:.2f}", *busy / *bound) : ""});
  }
  return table.ToString();
}

std::string MemoryTable(const ExchangeFigures& figures, const ModeFigures& mode) {
  const auto of_model = [&](uint64_t bytes) {
    return fmt::format("{:.2f}", static_cast<double>(bytes) / figures.model_bytes());
  };
  Table table({"memory, x fp32 model", "peak RssAnon", "peak RSS", "RssAnon, round 1",
               fmt::format("round {}", mode.summary.rounds.size())},
              1);
  for (const ProcessSamples& process : mode.memory) {
    table.Add({process.name, of_model(process.peak_anonymous), of_model(process.peak_resident),
               of_model(process.AnonymousAt(mode.summary.rounds.front().end_ns)),
               of_model(process.AnonymousAt(mode.summary.rounds.back().end_ns))});
  }
  if (mode.coordinator_before && mode.coordinator_after) {
    table.AddNote(fmt::format("coordinator before the run {}, after it {}",
                              HumanBytes(static_cast<double>(*mode.coordinator_before)),
                              HumanBytes(static_cast<double>(*mode.coordinator_after))));
  }
  return table.ToString();
}

std::string Rounds(const ModeFigures& mode) {
  std::string text;
  for (const ExchangeRound& round : mode.summary.rounds) {
    text += fmt::format(
        "  round {}{}: exchange {} (shortest of the workers' {}), first merge to "
        "first sync chunk {}\n",
        round.round, round.round == 1 ? " (warm-up)" : "", OrDash(round.longest_exchange()),
        OrDash(round.shortest_exchange()), OrDash(round.merge_to_sync_seconds));
  }
  return text;
}

std::string Mode(const ExchangeFigures& figures, const ModeFigures& mode) {
  const auto exchange = ExchangeSeconds(mode);
  return fmt::format("{}: exchange {}, {} x memcpy's time for the same bytes\n{}{}{}", mode.mode,
                     OrDash(exchange),
                     exchange ? fmt::format("{:.2f}", *exchange / figures.bound_seconds()) : "-",
                     Rounds(mode), StageTable(figures, mode), MemoryTable(figures, mode));
}

}  // namespace

std::string FormatExchangeText(const ExchangeFigures& figures) {
  std::string text =
      fmt::format("{} parameters ({} in fp32), {} workers, {} rounds, chunks of {}\n{}\n{}\n",
                  HumanCount(static_cast<double>(figures.config.model.synthetic_params)),
                  HumanBytes(figures.model_bytes()), figures.workers, figures.config.round.rounds,
                  HumanCount(static_cast<double>(figures.config.round.chunk_params)),
                  Machine(figures), Bound(figures));
  text +=
      "A worker's exchange is from the end of its local steps to the end of its last phase; a "
      "round's is its\nlongest. Stages work side by side and do not add up; each is its longest "
      "process's, the median of the\nrounds after the first. The bound of a stage is memcpy's time "
      "for its bytes with all cores, of upload and\ndownload raw TCP's.\n\n";
  for (const ModeFigures& mode : figures.modes) text += Mode(figures, mode) + "\n";
  for (const Bar& bar : ExchangeBars(figures)) {
    text += fmt::format("{}: {}\n", bar.what, bar.ToString());
  }
  return text;
}

}  // namespace interlude
