// Spans on the wire. They come from workers only, so a span of one of the coordinator's phases is
// refused. Internal to wire/. Pure functions; any thread.
#pragma once

#include <vector>

#include "base/status.h"
#include "interlude.pb.h"
#include "ledger/span.h"

namespace interlude::internal {

using SpanProtos = google::protobuf::RepeatedPtrField<v1::Span>;

/// Appends the spans. Who recorded them is not sent: the receiver knows and sets it.
void FillSpans(const std::vector<Span>& spans, SpanProtos& protos);

/// InvalidArgument, naming the span, for more than kMaxSpansPerMessage spans, an unknown or
/// coordinator's phase, negative times, an end beyond 64 bits, or more busy time than the span is
/// long.
StatusOr<std::vector<Span>> ReadSpans(const SpanProtos& protos);

}  // namespace interlude::internal
