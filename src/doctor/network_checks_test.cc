#include "doctor/network_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_root.h"
#include "doctor/find_check.h"

namespace interlude {
namespace {

using testing::HasSubstr;

LinkFigures Link(double round_trip_s, double up = 100e6, double down = 200e6) {
  LinkFigures link;
  link.round_trip_s.assign(100, round_trip_s);
  link.upload_bytes_per_s = up;
  link.download_bytes_per_s = down;
  link.sent_bytes = 100'000'000;
  link.retransmitted_bytes = 0;
  return link;
}

TcpReading Tcp(const std::string& control = "cubic", uint64_t send_bytes = 4 << 20) {
  return {.send_buffer_bytes = send_bytes,
          .receive_buffer_bytes = 32 << 20,
          .congestion_control = control,
          .available = {"reno", "cubic"}};
}

TEST(TcpChecks, AreReadFromTheTree) {
  FakeRoot root;
  root.File("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n");
  root.File("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456\n");
  root.File("/proc/sys/net/ipv4/tcp_congestion_control", "cubic\n");
  root.File("/proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic bbr\n");
  const TcpReading reading = ReadTcp(root.path());
  EXPECT_EQ(reading.send_buffer_bytes, 4'194'304u);
  EXPECT_EQ(reading.receive_buffer_bytes, 6'291'456u);
  EXPECT_EQ(reading.congestion_control, "cubic");
  EXPECT_THAT(reading.available, testing::ElementsAre("reno", "cubic", "bbr"));
  root.File("/proc/sys/net/ipv4/tcp_wmem", "damaged\n");
  EXPECT_EQ(ReadTcp(root.path()).send_buffer_bytes, std::nullopt);
  const TcpReading none = ReadTcp(FakeRoot().path());
  for (const Check& check : CheckTcp(none, std::nullopt))
    EXPECT_EQ(check.grade, CheckGrade::kUnknown);
}

TEST(TcpChecks, TheDefaultSendBufferHoldsAFarLineBack) {
  // 4 MiB carry 94 MB/s at 28 ms.
  const Check bound = Find(CheckTcp(Tcp(), Link(0.028, 90e6)), "tcp buffers");
  EXPECT_EQ(bound.grade, CheckGrade::kWarn);
  EXPECT_THAT(bound.figure, HasSubstr("94.37 MB/s up"));
  EXPECT_THAT(bound.advice, HasSubstr("tcp_wmem"));
  EXPECT_EQ(Find(CheckTcp(Tcp(), Link(0.028, 20e6)), "tcp buffers").grade, CheckGrade::kOk)
      << "the line is the limit";
  EXPECT_EQ(Find(CheckTcp(Tcp("cubic", 32 << 20), Link(0.028, 90e6)), "tcp buffers").grade,
            CheckGrade::kOk);
  EXPECT_EQ(Find(CheckTcp(Tcp(), Link(0.0002, 20e9)), "tcp buffers").grade, CheckGrade::kOk)
      << "near";
  EXPECT_EQ(Find(CheckTcp(Tcp(), std::nullopt), "tcp buffers").grade, CheckGrade::kUnknown);
}

TEST(TcpChecks, ALossBasedControlMattersOnAFarLine) {
  EXPECT_EQ(Find(CheckTcp(Tcp(), Link(0.028)), "congestion").grade, CheckGrade::kWarn);
  EXPECT_EQ(Find(CheckTcp(Tcp(), Link(0.0005)), "congestion").grade, CheckGrade::kOk);
  EXPECT_EQ(Find(CheckTcp(Tcp("bbr"), Link(0.028)), "congestion").grade, CheckGrade::kOk);
  const Check unknown = Find(CheckTcp(Tcp(), std::nullopt), "congestion");
  EXPECT_EQ(unknown.grade, CheckGrade::kUnknown);
  EXPECT_THAT(unknown.advice, HasSubstr("modprobe tcp_bbr"));
}

TEST(LinkChecks, ExchangeIsComparedWithTraining) {
  // 640 M parameters are 340 MB: 3.4 s up at 100 MB/s, 1.7 s down.
  const auto check = [](double train_seconds) {
    const Job job{.params = 640'000'000, .train_seconds = train_seconds};
    return Find(CheckLink(Link(0.05), job, CodecSeconds{0.2, 0.1}), "exchange");
  };
  EXPECT_DOUBLE_EQ(ValueOf(check(48), "round_seconds"), 3.5);
  EXPECT_EQ(check(48).grade, CheckGrade::kOk);
  EXPECT_EQ(check(20).grade, CheckGrade::kWarn);
  EXPECT_THAT(check(20).advice, HasSubstr("2 times as many round.local_steps"));
  EXPECT_EQ(check(5).grade, CheckGrade::kBad);
  EXPECT_EQ(check(0).grade, CheckGrade::kUnknown);
}

TEST(LinkChecks, TheCodecCountsWhereItIsSlowerThanTheLine) {
  const Job job{.params = 640'000'000};
  const Check check = Find(CheckLink(Link(0), job, CodecSeconds{17, 0.1}), "exchange");
  EXPECT_DOUBLE_EQ(ValueOf(check, "round_seconds"), 17);
  EXPECT_EQ(Find(CheckLink(Link(0), Job{}, std::nullopt), "exchange").grade, CheckGrade::kUnknown);
}

TEST(LinkChecks, LossIsGradedByItsShare) {
  for (const auto& [again, grade] : {std::pair{int64_t{0}, CheckGrade::kOk},
                                     {50'000, CheckGrade::kOk},
                                     {500'000, CheckGrade::kWarn},
                                     {5'000'000, CheckGrade::kBad}}) {
    LinkFigures link = Link(0.01);
    link.retransmitted_bytes = again;
    EXPECT_EQ(Find(CheckLink(link, {}, {}), "loss").grade, grade) << again;
  }
  LinkFigures near = Link(0.0001);
  near.retransmitted_bytes = 500'000;
  EXPECT_EQ(Find(CheckLink(near, {}, {}), "loss").grade, CheckGrade::kOk);
  LinkFigures unknown = Link(0.01);
  unknown.retransmitted_bytes.reset();
  EXPECT_EQ(Find(CheckLink(unknown, {}, {}), "loss").grade, CheckGrade::kUnknown);
}

TEST(LinkChecks, RoundTripsAreGradedByMedianAndUnevenness) {
  EXPECT_EQ(Find(CheckLink(Link(0.08), {}, {}), "round trip").grade, CheckGrade::kOk);
  EXPECT_EQ(Find(CheckLink(Link(0.3), {}, {}), "round trip").grade, CheckGrade::kWarn);
  LinkFigures uneven = Link(0.01);
  uneven.round_trip_s[98] = uneven.round_trip_s[99] = 0.5;
  const Check check = Find(CheckLink(uneven, {}, {}), "round trip");
  EXPECT_EQ(check.grade, CheckGrade::kWarn);
  EXPECT_EQ(ValueOf(check, "p99_seconds"), 0.5);
  EXPECT_EQ(ValueOf(check, "median_seconds"), 0.01);
}

TEST(LinkChecks, AWallClockIsWrongOnlyBeyondWhatTheRoundTripLeavesOpen) {
  LinkFigures link = Link(4);
  link.wall_offset_s = -2.5;
  EXPECT_EQ(Find(CheckLink(link, {}, {}), "wall clock").grade, CheckGrade::kOk);
  link.wall_offset_s = -3.5;
  const Check check = Find(CheckLink(link, {}, {}), "wall clock");
  EXPECT_EQ(check.grade, CheckGrade::kWarn);
  EXPECT_THAT(check.figure, HasSubstr("3.50 s ahead of the coordinator's"));
}

TEST(LinkChecks, ARateThatWasCutShortSaysWhy) {
  LinkFigures link = Link(0.01);
  link.download_bytes_per_s.reset();
  link.cut_short = "workers are exchanging a round";
  const Check check = Find(CheckLink(link, {}, {}), "link rate");
  EXPECT_EQ(check.grade, CheckGrade::kUnknown);
  EXPECT_EQ(check.advice, link.cut_short);
}

TEST(LinkChecks, WhatKeepsAWorkerOutIsBadAndWhatPassesIsUnknown) {
  const auto grade = [](const Status& status) {
    return Find(CheckLink(status, {}, {}), "link").grade;
  };
  EXPECT_EQ(grade(UnavailableError("cannot reach it")), CheckGrade::kBad);
  EXPECT_EQ(grade(UnauthenticatedError("a wrong token")), CheckGrade::kBad);
  EXPECT_EQ(grade(ResourceExhaustedError("workers are exchanging")), CheckGrade::kUnknown);
  EXPECT_EQ(grade(UnimplementedError("")), CheckGrade::kUnknown);
}

}  // namespace
}  // namespace interlude
