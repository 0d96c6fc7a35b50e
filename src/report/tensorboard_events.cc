#include "report/tensorboard_events.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <optional>

#include "ledger/span_math.h"
#include "report/tensorboard_subset.pb.h"

namespace interlude {
namespace {

constexpr std::array<uint32_t, 256> MakeCrc32cTable() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
    table[byte] = crc;
  }
  return table;
}

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeCrc32cTable();
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

template <typename T>
std::string LittleEndian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
  return bytes;
}

/// A record: length, its checksum, the event, its checksum.
void Append(const tensorboard::Event& event, std::string& file) {
  const std::string body = event.SerializeAsString();
  const std::string length = LittleEndian<uint64_t>(body.size());
  file += length + LittleEndian(MaskedCrc32c(length)) + body + LittleEndian(MaskedCrc32c(body));
}

/// Seconds since 1970; 0 when the database does not say.
double StartedAt(const RunSummary& run) {
  const auto text = run.meta.find(kMetaStartedAt);
  tm parts = {};
  if (text == run.meta.end() ||
      strptime(text->second.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) {
    return 0;
  }
  return static_cast<double>(timegm(&parts));
}

/// The earliest known moment on the coordinator's clock, taken for that of the start.
int64_t StartNs(const RunSummary& run) {
  int64_t start_ns = run.begin_ns;
  for (const WorkerSummary& worker : run.workers) {
    start_ns = std::min(start_ns, worker.record.joined_ns);
  }
  return start_ns;
}

class EventFile {
 public:
  explicit EventFile(const RunSummary& run) : started_at_(StartedAt(run)), start_ns_(StartNs(run)) {
    tensorboard::Event version;
    version.set_wall_time(started_at_);
    version.set_file_version("brain.Event:2");
    Append(version, file_);
  }

  /// Begins the event of one step; scalars follow.
  void Begin(uint32_t step, int64_t at_ns) {
    event_.Clear();
    event_.set_step(step);
    event_.set_wall_time(started_at_ + SecondsBetween(start_ns_, at_ns));
  }
  void Scalar(std::string tag, std::optional<double> value) {
    if (!value) return;
    auto* scalar = event_.mutable_summary()->add_value();
    scalar->set_tag(std::move(tag));
    scalar->set_simple_value(static_cast<float>(*value));
  }
  void End() { Append(event_, file_); }
  std::string Take() { return std::move(file_); }

 private:
  const double started_at_;
  const int64_t start_ns_;
  tensorboard::Event event_;
  std::string file_;
};

void AppendRound(const RoundSummary& round, int64_t end_ns, EventFile& file) {
  file.Begin(round.round, end_ns);
  file.Scalar("loss/training", round.mean_loss);
  file.Scalar("round_seconds/wall", round.wall_seconds);
  file.Scalar("round_seconds/exchange", round.exchange_seconds());
  for (const PhaseSummary& phase : round.phases) {
    file.Scalar(fmt::format("phase_seconds/{}", PhaseName(phase.phase)), phase.inside_seconds.max);
  }
  file.End();
}

}  // namespace

uint32_t MaskedCrc32c(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

std::string FormatTensorBoardEvents(const RunSummary& run, const std::vector<RoundRecord>& rounds) {
  EventFile file(run);
  std::map<uint32_t, int64_t> end_ns;
  for (const RoundRecord& round : rounds) end_ns[round.round] = round.end_ns;
  for (const RoundSummary& round : run.rounds) AppendRound(round, end_ns[round.round], file);
  for (const EvaluationRecord& evaluation : run.evaluations) {
    const auto end = end_ns.find(evaluation.after_rounds);
    file.Begin(evaluation.after_rounds, end == end_ns.end() ? run.begin_ns : end->second);
    if (evaluation.samples > 0) file.Scalar("accuracy", evaluation.accuracy());
    file.Scalar("loss/evaluation", evaluation.mean_loss);
    file.End();
  }
  return file.Take();
}

std::string TensorBoardFileName(const RunSummary& run, std::string_view host) {
  return fmt::format("events.out.tfevents.{}.{}", static_cast<int64_t>(StartedAt(run)), host);
}

}  // namespace interlude
