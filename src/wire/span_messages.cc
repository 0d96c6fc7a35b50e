#include "wire/span_messages.h"

#include <limits>
#include <optional>

#include "wire/convert.h"
#include "wire/field_checks.h"

namespace interlude::internal {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

StatusOr<Span> ReadSpan(const v1::Span& proto) {
  INTERLUDE_RETURN_IF_ERROR(CheckRange("phase", proto.phase(), 1, kFirstCoordinatorPhase - 1));
  const std::optional<Phase> phase = PhaseFromNumber(static_cast<int>(proto.phase()));
  if (!phase.has_value())
    return InvalidArgumentError("phase {} is unknown to this program", proto.phase());
  INTERLUDE_RETURN_IF_ERROR(CheckRange("begin_ns", proto.begin_ns(), 0, kMost));
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("duration_ns", proto.duration_ns(), 0, kMost - proto.begin_ns()));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("busy_ns", proto.busy_ns(), 0, proto.duration_ns()));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("cpu_ns", proto.cpu_ns(), 0, kMost));
  INTERLUDE_RETURN_IF_ERROR(CheckRange("run_delay_ns", proto.run_delay_ns(), 0, kMost));
  INTERLUDE_RETURN_IF_ERROR(CheckAtMost("bytes", proto.bytes(), static_cast<uint64_t>(kMost)));
  return Span{.phase = *phase,
              .round = proto.round(),
              .begin_ns = proto.begin_ns(),
              .end_ns = proto.begin_ns() + proto.duration_ns(),
              .busy_ns = proto.busy_ns(),
              .cpu_ns = proto.cpu_ns(),
              .run_delay_ns = proto.run_delay_ns(),
              .bytes = proto.bytes(),
              .chunks = proto.chunks(),
              .ok = !proto.failed()};
}

}  // namespace

void FillSpans(const std::vector<Span>& spans, SpanProtos& protos) {
  protos.Reserve(static_cast<int>(spans.size()));
  for (const Span& span : spans) {
    v1::Span& proto = *protos.Add();
    proto.set_phase(static_cast<uint32_t>(span.phase));
    proto.set_round(span.round);
    proto.set_begin_ns(span.begin_ns);
    proto.set_duration_ns(span.end_ns - span.begin_ns);
    proto.set_busy_ns(span.busy_ns);
    proto.set_cpu_ns(span.cpu_ns);
    proto.set_run_delay_ns(span.run_delay_ns);
    proto.set_bytes(span.bytes);
    proto.set_chunks(span.chunks);
    proto.set_failed(!span.ok);
  }
}

StatusOr<std::vector<Span>> ReadSpans(const SpanProtos& protos) {
  INTERLUDE_RETURN_IF_ERROR(
      CheckRange("the number of spans", protos.size(), 0, kMaxSpansPerMessage));
  std::vector<Span> spans;
  spans.reserve(static_cast<size_t>(protos.size()));
  for (const v1::Span& proto : protos) {
    StatusOr<Span> span = ReadSpan(proto);
    if (!span.ok()) return span.status().WithContext(fmt::format("span {}", spans.size()));
    spans.push_back(*span);
  }
  return spans;
}

}  // namespace interlude::internal
