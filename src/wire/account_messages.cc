#include "wire/account_messages.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "base/clean_text.h"
#include "wire/convert.h"
#include "wire/field_checks.h"

namespace interlude::internal {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
// Beyond these a clock or a figure is wrong, and sums of them could overflow.
constexpr int64_t kLatestNs = int64_t{1} << 60;   // 36 years since the machine started
constexpr int64_t kLongestNs = int64_t{1} << 55;  // 416 days

StatusOr<Phase> ReadPhase(uint32_t number) {
  INTERLUDE_RETURN_IF_ERROR(CheckRange("phase", number, 1, kFirstCoordinatorPhase - 1));
  const std::optional<Phase> phase = PhaseFromNumber(static_cast<int>(number));
  if (!phase.has_value())
    return InvalidArgumentError("phase {} is unknown to this program", number);
  return *phase;
}

v1::Span ToProto(const Span& span) {
  v1::Span proto;
  proto.set_phase(static_cast<uint32_t>(span.phase));
  proto.set_round(span.round);
  proto.set_begin_ns(span.begin_ns);
  proto.set_duration_ns(span.end_ns - span.begin_ns);
  proto.set_busy_ns(span.busy_ns);
  proto.set_cpu_ns(span.cpu_ns);
  proto.set_run_delay_ns(span.run_delay_ns);
  proto.set_blocked_ns(span.blocked_ns);
  proto.set_bytes(span.bytes);
  proto.set_chunks(span.chunks);
  proto.set_failed(!span.ok);
  return proto;
}

StatusOr<Span> Read(const v1::Span& proto) {
  INTERLUDE_ASSIGN_OR_RETURN(const Phase phase, ReadPhase(proto.phase()));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("begin_ns", proto.begin_ns(), 0, kLatestNs));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("duration_ns", proto.duration_ns(), 0, kLongestNs));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("busy_ns", proto.busy_ns(), 0, proto.duration_ns()));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("cpu_ns", proto.cpu_ns(), 0, kLatestNs));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("run_delay_ns", proto.run_delay_ns(), 0, kLatestNs));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("blocked_ns", proto.blocked_ns(), 0, kLatestNs));
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("bytes", proto.bytes(), static_cast<uint64_t>(kMost)));
  return Span{.phase = phase,
              .round = proto.round(),
              .begin_ns = proto.begin_ns(),
              .end_ns = proto.begin_ns() + proto.duration_ns(),
              .busy_ns = proto.busy_ns(),
              .cpu_ns = proto.cpu_ns(),
              .run_delay_ns = proto.run_delay_ns(),
              .bytes = proto.bytes(),
              .chunks = proto.chunks(),
              .ok = !proto.failed(),
              .blocked_ns = proto.blocked_ns()};
}

v1::ChunkStamps ToProto(const ChunkStamps& stamps) {
  v1::ChunkStamps proto;
  proto.set_phase(static_cast<uint32_t>(stamps.phase));
  proto.set_round(stamps.round);
  proto.set_stamps(EncodeStamps(stamps.stamps));
  return proto;
}

StatusOr<ChunkStamps> Read(const v1::ChunkStamps& proto) {
  INTERLUDE_ASSIGN_OR_RETURN(const Phase phase, ReadPhase(proto.phase()));
  ChunkStamps stamps{.phase = phase, .round = proto.round()};
  INTERLUDE_ASSIGN_OR_RETURN(stamps.stamps, DecodeStamps(proto.stamps()));
  return stamps;
}

v1::ProcessSample ToProto(const ProcessSample& sample) {
  v1::ProcessSample proto;
  proto.set_at_ns(sample.at_ns);
  for (const SampleField& field : kSampleFields) proto.add_values(sample.*field.value);
  return proto;
}

StatusOr<ProcessSample> Read(const v1::ProcessSample& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckRange("at_ns", proto.at_ns(), 0, kLatestNs));
  ProcessSample sample{.at_ns = proto.at_ns()};
  // A newer worker has more figures; those of an older one that are missing stay unknown.
  const int known = std::min(proto.values_size(), static_cast<int>(kSampleFields.size()));
  for (int i = 0; i < known; ++i) {
    const SampleField& field = kSampleFields[static_cast<size_t>(i)];
    INTERLUDE_RETURN_IF_ERROR(CheckRange(field.name, proto.values(i), kUnknownFigure, kLatestNs));
    sample.*field.value = proto.values(i);
  }
  return sample;
}

v1::MemoryRecord ToProto(const MemoryRecord& record) {
  v1::MemoryRecord proto;
  proto.set_at_ns(record.at_ns);
  proto.set_owner(CleanText(record.owner, kMaxOwnerBytes));
  proto.set_bytes(record.bytes);
  return proto;
}

StatusOr<MemoryRecord> Read(const v1::MemoryRecord& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckRange("at_ns", proto.at_ns(), 0, kLatestNs));
  INTERLUDE_RETURN_IF_ERROR(CheckText("owner", proto.owner(), kMaxOwnerBytes));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("bytes", proto.bytes(), 0, kMost));
  return MemoryRecord{.at_ns = proto.at_ns(), .owner = proto.owner(), .bytes = proto.bytes()};
}

v1::ClockProbe ToProto(const ClockProbe& probe) {
  v1::ClockProbe proto;
  proto.set_sent_ns(probe.sent_ns);
  proto.set_received_ns(probe.received_ns);
  proto.set_answered_after_ns(probe.replied_ns - probe.received_ns);
  proto.set_returned_after_ns(probe.returned_ns - probe.sent_ns);
  proto.set_run_delay_ns(probe.run_delay_ns);
  return proto;
}

StatusOr<ClockProbe> Read(const v1::ClockProbe& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckRange("sent_ns", proto.sent_ns(), 0, kLatestNs));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("received_ns", proto.received_ns(), 0, kLatestNs));
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("returned_after_ns", proto.returned_after_ns(), 0, kLongestNs));
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("answered_after_ns", proto.answered_after_ns(), 0, kLongestNs));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("run_delay_ns", proto.run_delay_ns(), 0, kLatestNs));
  return ClockProbe{.sent_ns = proto.sent_ns(),
                    .received_ns = proto.received_ns(),
                    .replied_ns = proto.received_ns() + proto.answered_after_ns(),
                    .returned_ns = proto.sent_ns() + proto.returned_after_ns(),
                    .run_delay_ns = proto.run_delay_ns()};
}

template <typename Entry, typename Protos>
void Fill(const std::vector<Entry>& entries, Protos& protos) {
  protos.Reserve(static_cast<int>(entries.size()));
  for (const Entry& entry : entries) *protos.Add() = ToProto(entry);
}

template <typename Protos, typename Entry>
Status ReadAll(std::string_view name, const Protos& protos, int most, std::vector<Entry>& entries) {
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange(fmt::format("the number of {}s", name), protos.size(), 0, most));
  entries.reserve(static_cast<size_t>(protos.size()));
  for (const auto& proto : protos) {
    StatusOr<Entry> entry = Read(proto);
    if (!entry.ok()) return entry.status().WithContext(fmt::format("{} {}", name, entries.size()));
    entries.push_back(*std::move(entry));
  }
  return OkStatus();
}

Status CheckStampCount(const std::vector<ChunkStamps>& all) {
  size_t count = 0;
  for (const ChunkStamps& stamps : all) count += stamps.stamps.size();
  return CheckAtMost("the number of stamps", count, 8 * kMaxStamps);
}

}  // namespace

void FillAccount(const Account& account, v1::Account& proto) {
  Fill(account.spans, *proto.mutable_spans());
  Fill(account.stamps, *proto.mutable_stamps());
  Fill(account.samples, *proto.mutable_samples());
  Fill(account.memory, *proto.mutable_memory());
  Fill(account.probes, *proto.mutable_probes());
}

StatusOr<Account> ReadAccount(const v1::Account& proto) {
  Account account;
  INTERLUDE_RETURN_IF_ERROR(ReadAll("span", proto.spans(), kMaxSpansPerMessage, account.spans));
  INTERLUDE_RETURN_IF_ERROR(
      ReadAll("entry of stamp", proto.stamps(), kMaxSpansPerMessage, account.stamps));
  INTERLUDE_RETURN_IF_ERROR(CheckStampCount(account.stamps));
  INTERLUDE_RETURN_IF_ERROR(
      ReadAll("sample", proto.samples(), kMaxSamplesPerMessage, account.samples));
  INTERLUDE_RETURN_IF_ERROR(
      ReadAll("memory record", proto.memory(), kMaxSamplesPerMessage, account.memory));
  INTERLUDE_RETURN_IF_ERROR(
      ReadAll("clock probe", proto.probes(), kMaxSamplesPerMessage, account.probes));
  return account;
}

}  // namespace interlude::internal
