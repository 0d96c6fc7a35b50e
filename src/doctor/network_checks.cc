#include "doctor/network_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "base/proc_text.h"

namespace interlude {
namespace {

/// Of tcp_wmem's most, what one connection has on its way: the kernel counts its own overhead. A
/// connection with 4 MiB was seen to carry 95 MB/s at 28 ms, which is 0.63.
constexpr double kSendShare = 0.63;
/// Of tcp_rmem's most, the window that is offered (tcp_adv_win_scale = 1).
constexpr double kReceiveShare = 0.5;

std::optional<uint64_t> LastNumberIn(const std::string& path) {
  const auto text = ReadProcText(path);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  const auto words = Words(TakeLine(rest));
  const auto number = words.empty() ? std::nullopt : Number(words.back());
  if (!number || *number <= 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

std::vector<std::string> WordsIn(const std::string& path) {
  const auto text = ReadProcText(path);
  if (!text) return {};
  std::string_view rest = *text;
  const auto words = Words(TakeLine(rest));
  return {words.begin(), words.end()};
}

bool IsBbr(const std::string& name) { return name.starts_with("bbr"); }

std::string Rate(double bytes_per_s) { return HumanBytes(bytes_per_s) + "/s"; }

Check CheckBuffers(const TcpReading& reading, const std::optional<LinkFigures>& link) {
  Check check{.name = "tcp buffers"};
  if (!reading.send_buffer_bytes || !reading.receive_buffer_bytes) {
    check.figure = "the kernel does not say";
    return check;
  }
  const auto send = static_cast<double>(*reading.send_buffer_bytes);
  const auto receive = static_cast<double>(*reading.receive_buffer_bytes);
  check.values = {{"send_bytes", send}, {"receive_bytes", receive}};
  // At 28 ms without a link, so that there is a figure to think with.
  const double round_trip = link ? link->RoundTrip(0.5) : 0.028;
  const double up = kSendShare * send / round_trip;
  const double down = kReceiveShare * receive / round_trip;
  check.figure = fmt::format(
      "send {}, receive {}: one connection carries at most {} up, {} down at {}", HumanBytes(send),
      HumanBytes(receive), Rate(up), Rate(down), HumanSeconds(round_trip));
  if (!link) {
    check.advice = "whether that is enough depends on the way: give --coordinator";
    return check;
  }
  const double found_up = link->upload_bytes_per_s.value_or(0);
  const double found_down = link->download_bytes_per_s.value_or(0);
  const bool bound = round_trip >= kFarSeconds && (found_up > 0.7 * up || found_down > 0.7 * down);
  check.grade = bound ? CheckGrade::kWarn : CheckGrade::kOk;
  if (bound)
    check.advice =
        "the measured rate is near it: as root on both machines, sysctl -w "
        "net.ipv4.tcp_wmem='4096 65536 33554432' net.ipv4.tcp_rmem='4096 131072 33554432'";
  return check;
}

Check CheckCongestionControl(const TcpReading& reading, const std::optional<LinkFigures>& link) {
  Check check{.name = "congestion", .grade = CheckGrade::kOk};
  if (reading.congestion_control.empty()) {
    check.grade = CheckGrade::kUnknown;
    check.figure = "the kernel does not say which control is in use";
    return check;
  }
  const bool has_bbr = std::ranges::any_of(reading.available, IsBbr);
  check.figure = reading.congestion_control;
  if (IsBbr(reading.congestion_control)) return check;
  check.figure += has_bbr ? "; BBR is there" : "; BBR is not loaded";
  const bool far = link && link->RoundTrip(0.5) >= kFarSeconds;
  if (link && !far) {
    check.figure += "; the coordinator is near, where it makes no difference";
    return check;
  }
  check.grade = far ? CheckGrade::kWarn : CheckGrade::kUnknown;
  check.advice = fmt::format(
      "{}a few lost packets cost it most of a far line; as root on both machines: {}sysctl -w "
      "net.ipv4.tcp_congestion_control=bbr",
      far ? "" : "depends on the way (give --coordinator): ", has_bbr ? "" : "modprobe tcp_bbr; ");
  return check;
}

}  // namespace

TcpReading ReadTcp(const std::string& root) {
  const std::string settings = root + "/proc/sys/net/ipv4/";
  TcpReading reading;
  reading.send_buffer_bytes = LastNumberIn(settings + "tcp_wmem");
  reading.receive_buffer_bytes = LastNumberIn(settings + "tcp_rmem");
  const auto control = WordsIn(settings + "tcp_congestion_control");
  if (!control.empty()) reading.congestion_control = control.front();
  reading.available = WordsIn(settings + "tcp_available_congestion_control");
  return reading;
}

Checks CheckTcp(const TcpReading& reading, const std::optional<LinkFigures>& link) {
  return {CheckBuffers(reading, link), CheckCongestionControl(reading, link)};
}

}  // namespace interlude
