#include "worker/link_measurement.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/address.h"
#include "base/rng.h"
#include "base/tcp_counters.h"
#include "wire/convert.h"
#include "worker/channels.h"

namespace interlude {
namespace {

constexpr size_t kLeastRoundTrips = 5;
/// Pieces asked for ahead: these, and what the line carries in this time and two round trips.
constexpr size_t kPiecesAhead = 4;
constexpr double kAheadSeconds = 0.3;
/// But never more: answers that nobody reads yet must fit in HTTP/2's first window (64 KiB), or
/// both ends wait for each other.
constexpr size_t kMostPiecesAhead = 512;

double Seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// Bytes that no line on the way can make shorter.
std::string Noise(size_t bytes) {
  Rng random(1);
  std::string noise(bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  return noise;
}

/// One call of MeasureLink.
class LinkCall {
 public:
  LinkCall(const std::shared_ptr<grpc::Channel>& channel, const LinkPlan& plan, const Clock& clock)
      : plan_(plan), clock_(clock), stub_(v1::Coordinator::NewStub(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + plan.call_within);
    stream_ = stub_->MeasureLink(&context_);
  }

  /// False when the call ended.
  bool MeasureRoundTrips(LinkFigures& figures);
  /// Bytes a second of answered pieces, each `bytes` long, one way or the other; nothing when the
  /// call ended before there were some.
  std::optional<double> MeasureRate(const v1::LinkRequest& request, size_t bytes);
  /// How it ended, or ends now.
  Status Finish() {
    stream_->WritesDone();
    while (stream_->Read(&reply_)) {  // the end comes behind the last answer
    }
    return FromGrpc(stream_->Finish());
  }
  bool broken() const { return broken_; }

 private:
  bool AskOnce(LinkFigures& figures);
  /// How many pieces may be unanswered: few enough that the line is soon empty again when the time
  /// is over, enough that it never is before.
  size_t PiecesAhead(size_t answered, Nanoseconds elapsed) const;

  const LinkPlan& plan_;
  const Clock& clock_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::LinkRequest, v1::LinkReply>> stream_;
  v1::LinkReply reply_;
  double shortest_s_ = 0;
  bool broken_ = false;
};

bool LinkCall::AskOnce(LinkFigures& figures) {
  const Nanoseconds sent = clock_.Now();
  const Nanoseconds sent_wall = clock_.WallTime();
  if (!stream_->Write(v1::LinkRequest()) || !stream_->Read(&reply_)) {
    broken_ = true;
    return false;
  }
  const double took = Seconds(clock_.Now() - sent);
  if (figures.round_trip_s.empty() || took < shortest_s_) {
    shortest_s_ = took;
    figures.wall_offset_s = Seconds(Nanoseconds(reply_.wall_ns()) - sent_wall) - took / 2;
  }
  figures.round_trip_s.push_back(took);
  return true;
}

bool LinkCall::MeasureRoundTrips(LinkFigures& figures) {
  LinkFigures first;  // makes the connection's and the call's beginning part of none
  if (!AskOnce(first)) return false;
  const Nanoseconds begin = clock_.Now();
  for (size_t i = 0; i < plan_.round_trips; ++i) {
    if (i >= kLeastRoundTrips && clock_.Now() - begin > plan_.round_trips_within) break;
    if (!AskOnce(figures)) break;
  }
  std::ranges::sort(figures.round_trip_s);
  return !broken_;
}

size_t LinkCall::PiecesAhead(size_t answered, Nanoseconds elapsed) const {
  const double rate = static_cast<double>(answered) / std::max(Seconds(elapsed), 1e-6);
  const double carried = rate * (kAheadSeconds + 2 * shortest_s_);
  // Not more than twice what has come through already, as TCP itself begins.
  const double more = std::min(carried, static_cast<double>(answered));
  return std::min(kPiecesAhead + static_cast<size_t>(more), kMostPiecesAhead);
}

std::optional<double> LinkCall::MeasureRate(const v1::LinkRequest& request, size_t bytes) {
  const Nanoseconds begin = clock_.Now();
  const size_t most = plan_.most_bytes_each_way / bytes;
  std::vector<Nanoseconds> answers;
  for (size_t asked = 0; !broken_;) {
    const Nanoseconds elapsed = clock_.Now() - begin;
    const size_t ahead = PiecesAhead(answers.size(), elapsed);
    while (!broken_ && elapsed < plan_.each_way_within && asked < most &&
           asked - answers.size() < ahead) {
      broken_ = !stream_->Write(request);
      ++asked;
    }
    if (broken_ || asked == answers.size()) break;
    broken_ = !stream_->Read(&reply_);
    if (!broken_) answers.push_back(clock_.Now());
  }
  if (answers.size() < kPiecesAhead) return std::nullopt;
  // The later half: TCP has found the line's rate by then.
  const size_t from = answers.size() / 2;
  const double took = Seconds(answers.back() - answers[from - 1]);
  if (took <= 0) return std::nullopt;
  return static_cast<double>((answers.size() - from) * bytes) / took;
}

void ReadTcp(const std::string& coordinator, LinkFigures& figures) {
  const auto port = PortOf(coordinator);
  const auto connections = port ? ReadTcpCounters({.port = *port}) : std::nullopt;
  if (!connections) return;
  for (const auto& [cookie, tcp] : *connections) {
    if (!tcp.sent_bytes || !tcp.retransmitted_bytes) continue;
    figures.sent_bytes = figures.sent_bytes.value_or(0) + *tcp.sent_bytes;
    figures.retransmitted_bytes =
        figures.retransmitted_bytes.value_or(0) + *tcp.retransmitted_bytes;
  }
}

}  // namespace

StatusOr<LinkFigures> MeasureLink(const WorkerOptions& options, const LinkPlan& plan,
                                  const Clock& clock) {
  INTERLUDE_RETURN_IF_ERROR(CheckExposure(options));
  const TransportKeys* keys = options.keys ? &*options.keys : nullptr;
  INTERLUDE_ASSIGN_OR_RETURN(
      const Channels channels,
      Connect(options.coordinator, keys, options.connect_timeout, [] { return false; }));
  LinkCall call(channels.bulk, plan, clock);
  LinkFigures figures;
  if (call.MeasureRoundTrips(figures)) {
    v1::LinkRequest up;
    up.set_payload(Noise(plan.piece_bytes));
    figures.upload_bytes_per_s = call.MeasureRate(up, plan.piece_bytes);
    ReadTcp(options.coordinator, figures);
    v1::LinkRequest down;
    down.set_reply_bytes(static_cast<uint32_t>(plan.piece_bytes));
    figures.download_bytes_per_s = call.MeasureRate(down, plan.piece_bytes);
  }
  const bool broken = call.broken();
  const Status end = call.Finish();
  if (figures.round_trip_s.empty()) {
    if (!end.ok()) return end;
    return UnavailableError("the coordinator at {} ended the measurement", options.coordinator);
  }
  if (broken) figures.cut_short = end.ok() ? "the coordinator ended it" : end.message();
  return figures;
}

}  // namespace interlude
