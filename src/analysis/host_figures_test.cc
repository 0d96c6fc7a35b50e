#include "analysis/host_figures.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Span MakeSpan(Phase phase, double begin_s, double end_s, double delay_s = 0) {
  Span span;
  span.phase = phase;
  span.recorded_by = 0;
  span.begin_ns = static_cast<int64_t>(begin_s * kSecond);
  span.end_ns = static_cast<int64_t>(end_s * kSecond);
  span.busy_ns = span.end_ns - span.begin_ns;
  span.run_delay_ns = static_cast<int64_t>(delay_s * kSecond);
  span.blocked_ns = span.busy_ns - span.run_delay_ns;
  return span;
}

ProcessHistory History(const std::vector<Span>& spans, std::vector<ProcessSample> samples) {
  std::vector<const Span*> pointers;
  for (const Span& span : spans) pointers.push_back(&span);
  return ProcessHistory(pointers, std::move(samples));
}

/// Of the second that ends at `at_s`.
ProcessSample MakeSample(double at_s) {
  ProcessSample sample;
  for (const SampleField& field : kSampleFields) sample.*field.value = 0;
  sample.recorded_by = 0;
  sample.at_ns = static_cast<int64_t>(at_s * kSecond);
  sample.interval_ns = kSecond;
  return sample;
}

TEST(HostFiguresTest, WhatPassesEvenlyIsDividedByTime) {
  const Span train = MakeSpan(Phase::kTrain, 10.5, 12.25);
  ProcessSample a = MakeSample(11), b = MakeSample(12), c = MakeSample(13);
  a.machine_busy_ns = 100;
  b.machine_busy_ns = 1000;
  c.machine_busy_ns = 400;
  const ProcessHistory history = History({train}, {c, a, b});
  EXPECT_EQ(history.Of(train).machine_busy_ns, 50 + 1000 + 100);
  EXPECT_EQ(history.Of(train).covered_ns, 1.75 * kSecond);
}

TEST(HostFiguresTest, ThrottlingFallsToWhoWaitedForACpu) {
  const Span train = MakeSpan(Phase::kTrain, 10, 10.5);
  const Span encode = MakeSpan(Phase::kEncode, 10.5, 10.7, 0.15);
  const Span apply = MakeSpan(Phase::kApply, 10.8, 11, 0.05);
  ProcessSample sample = MakeSample(11);
  sample.throttled_ns = 180'000'000;
  const ProcessHistory history = History({train, encode, apply}, {sample});
  EXPECT_EQ(history.Of(train).throttled_ns, 0);
  EXPECT_EQ(history.Of(encode).throttled_ns, 135'000'000);
  EXPECT_EQ(history.Of(apply).throttled_ns, 45'000'000);
}

TEST(HostFiguresTest, ManySpansThatBeginWhereASampleEndsTakeNoPart) {
  std::vector<Span> spans = {MakeSpan(Phase::kEncode, 10, 11, 0.5)};
  for (int i = 0; i < 40; ++i) spans.push_back(MakeSpan(Phase::kEncode, 11, 11.5, 0.01 * (i + 1)));
  ProcessSample sample = MakeSample(11);
  sample.throttled_ns = 1'000'000;
  EXPECT_EQ(History(spans, {sample}).Of(spans[0]).throttled_ns, 1'000'000);
}

TEST(HostFiguresTest, SpansSideBySideDoNotShare) {
  const Span encode = MakeSpan(Phase::kEncode, 10, 11, 0.8);
  const Span upload = MakeSpan(Phase::kUpload, 10, 11, 0.4);
  ProcessSample sample = MakeSample(11);
  sample.throttled_ns = 800;
  const ProcessHistory history = History({encode, upload}, {sample});
  EXPECT_EQ(history.Of(encode).throttled_ns, 800);
  EXPECT_EQ(history.Of(upload).throttled_ns, 400);
}

TEST(HostFiguresTest, ReadsFallToWorkThatSleptAndBytesSentToUploads) {
  const Span train = MakeSpan(Phase::kTrain, 10, 10.5);
  const Span upload = MakeSpan(Phase::kUpload, 10.5, 10.75);
  ProcessSample sample = MakeSample(11);
  sample.disk_read_bytes = 100;
  sample.tcp_sent_bytes = 70;
  const ProcessHistory history = History({train, upload}, {sample});
  EXPECT_EQ(history.Of(train).disk_read_bytes, 100);
  EXPECT_EQ(history.Of(train).tcp_sent_bytes, 0);
  EXPECT_EQ(history.Of(upload).disk_read_bytes, 0);
  EXPECT_EQ(history.Of(upload).tcp_sent_bytes, 70);
}

TEST(HostFiguresTest, WaitingForOthersTakesNoPart) {
  const Span upload = MakeSpan(Phase::kUpload, 10, 10.2, 0.1);
  const Span wait = MakeSpan(Phase::kWait, 10.2, 11, 0.8);
  ProcessSample sample = MakeSample(11);
  sample.throttled_ns = 100;
  EXPECT_EQ(History({upload, wait}, {sample}).Of(upload).throttled_ns, 100);
}

TEST(HostFiguresTest, LoadingTakesNoPartAsTrainingContainsIt) {
  const Span train = MakeSpan(Phase::kTrain, 10, 11, 0.4);
  const Span load = MakeSpan(Phase::kLoad, 10, 11, 0.8);
  ProcessSample sample = MakeSample(11);
  sample.throttled_ns = 100;
  EXPECT_EQ(History({train, load}, {sample}).Of(train).throttled_ns, 100);
}

TEST(HostFiguresTest, AFigureThatOneSampleLacksIsUnknown) {
  const Span train = MakeSpan(Phase::kTrain, 10, 12);
  ProcessSample a = MakeSample(11), b = MakeSample(12);
  b.steal_ns = kUnknownFigure;
  const HostFigures figures = History({train}, {a, b}).Of(train);
  EXPECT_EQ(figures.steal_ns, kUnknownFigure);
  EXPECT_EQ(figures.major_faults, 0);
}

TEST(HostFiguresTest, SamplesThatCoverLessThanHalfSayNothing) {
  const Span train = MakeSpan(Phase::kTrain, 10.6, 12);
  EXPECT_EQ(History({train}, {MakeSample(11)}).Of(train).steal_ns, kUnknownFigure);
  const Span shorter = MakeSpan(Phase::kTrain, 10.6, 11.3);
  ProcessSample sample = MakeSample(11);
  sample.steal_ns = 100;
  EXPECT_EQ(History({shorter}, {sample}).Of(shorter).steal_ns, 70) << "40 of 0.4 s, for 0.7 s";
}

TEST(HostFiguresTest, CpuTimeMeanwhileIsThatOfAllSpansAtTheTime) {
  Span encode = MakeSpan(Phase::kEncode, 10, 11);
  Span upload = MakeSpan(Phase::kUpload, 10.5, 12.5);
  encode.cpu_ns = 1000;
  upload.cpu_ns = 400;
  EXPECT_EQ(History({encode, upload}, {}).CpuMeanwhile(encode), 1100);
}

TEST(HostFiguresTest, DelayMeanwhileIsThatOfAllThreadsOfAllSpansAtTheTime) {
  Span encode = MakeSpan(Phase::kEncode, 10, 11);
  Span upload = MakeSpan(Phase::kUpload, 10.5, 12.5);
  encode.run_delay_ns = 8'000'000'000;  // of sixteen threads
  upload.run_delay_ns = 400'000'000;
  EXPECT_NEAR(static_cast<double>(History({encode, upload}, {}).DelayMeanwhile(upload)), 4.4e9,
              1e3);
}

}  // namespace
}  // namespace interlude
