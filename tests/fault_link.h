// A line between a worker and its coordinator that a test can spoil: a TCP forwarder in this
// process, with delay, a rate, silence (a partition: nothing passes and nobody is told) and cuts
// (connections are reset, new ones refused). Not for packets: TCP below it is whole, so loss is
// seen as delay.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "store/file.h"

namespace interlude {

/// Any thread may change the line at any time.
class FaultLink {
 public:
  /// Forwards what comes to address() to `target`, "127.0.0.1:PORT".
  explicit FaultLink(const std::string& target);
  ~FaultLink();
  FaultLink(const FaultLink&) = delete;
  FaultLink& operator=(const FaultLink&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  void SetDelay(std::chrono::milliseconds one_way) { delay_ms_ = one_way.count(); }
  /// Of each connection and direction; 0: as fast as it goes.
  void SetRate(uint64_t bytes_per_second) { rate_ = bytes_per_second; }
  void SetSilent(bool silent) { silent_ = silent; }
  /// Resets all connections and refuses new ones until Heal.
  void Cut() { cut_ = true; }
  void Heal() { cut_ = silent_ = false; }
  /// Connections that are there.
  size_t connections() const { return open_; }
  /// That were refused since it was made.
  size_t refused() const { return refused_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Parcel {
    Clock::time_point due;
    std::vector<std::byte> bytes;
    size_t sent = 0;
  };
  /// One direction of one connection.
  struct Pipe {
    int from = -1;
    int to = -1;
    bool at_end = false;
    std::deque<Parcel> parcels;
    size_t waiting = 0;
    Clock::time_point free_at{};  // the line is busy until then
  };
  struct Connection {
    FileDescriptor near;
    FileDescriptor far;
    Pipe pipes[2];
    bool broken = false;
  };

  void Run();
  void Accept();
  void CloseAll();
  void Read(Connection& connection, Pipe& pipe);
  void Write(Connection& connection, Pipe& pipe, Clock::time_point now);

  sockaddr_in target_{};
  FileDescriptor listener_;
  uint16_t port_ = 0;
  std::atomic<int64_t> delay_ms_{0};
  std::atomic<uint64_t> rate_{0};
  std::atomic<bool> silent_{false};
  std::atomic<bool> cut_{false};
  std::atomic<bool> stop_{false};
  std::atomic<size_t> open_{0};
  std::atomic<size_t> refused_{0};
  std::list<Connection> connections_;
  std::thread thread_;
};

}  // namespace interlude
