// What was measured of the way to a coordinator. Plain values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace interlude {

/// Nothing where it could not be measured.
struct LinkFigures {
  std::vector<double> round_trip_s;  // of small messages, shortest first; never empty
  std::optional<double> upload_bytes_per_s;
  std::optional<double> download_bytes_per_s;
  /// What TCP sent from here, and of it again; the kernel's count.
  std::optional<int64_t> sent_bytes;
  std::optional<int64_t> retransmitted_bytes;
  /// To add to this machine's wall clock to have the coordinator's, to within half the shortest
  /// round trip.
  double wall_offset_s = 0;
  /// What ended the measurement before its time; empty: nothing.
  std::string cut_short;

  /// The round trip that this share of them, more than 0, does not exceed.
  double RoundTrip(double share) const {
    const double rank = std::ceil(share * static_cast<double>(round_trip_s.size()));
    return round_trip_s[std::clamp<size_t>(static_cast<size_t>(rank), 1, round_trip_s.size()) - 1];
  }
};

}  // namespace interlude
