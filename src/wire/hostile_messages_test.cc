// What a damaged, outdated or hostile program may send: each bound of convert.h, one at a time,
// against a message that is right but for that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "wire/convert.h"

namespace interlude {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

v1::WorkerMessage GoodOffer() {
  BaseOfferMessage offer{.layout = Layout::Create({{.name = "w", .shape = {2, 64}}}, 64).value()};
  offer.chunk_hashes = {{1, 2}, {3, 4}};
  return ToProto(WorkerMessage(offer));
}

v1::WorkerMessage GoodReport() {
  RoundReportMessage report{.round = 1, .root = {1, 1}, .samples = 8};
  report.account.spans = {{.phase = Phase::kTrain, .begin_ns = 5, .end_ns = 10, .busy_ns = 5}};
  return ToProto(WorkerMessage(report));
}

/// The message after `spoil` is refused as InvalidArgument with `text`; before, it is accepted.
void ExpectRefused(v1::WorkerMessage message, const std::function<void(v1::WorkerMessage&)>& spoil,
                   const std::string& text) {
  const StatusOr<WorkerMessage> before = FromProto(message);
  EXPECT_TRUE(before.ok()) << before.status().ToString();
  spoil(message);
  const StatusOr<WorkerMessage> after = FromProto(message);
  ASSERT_FALSE(after.ok()) << text;
  EXPECT_EQ(after.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(after.status().message(), HasSubstr(text));
}

void ExpectRefused(v1::CoordinatorMessage message,
                   const std::function<void(v1::CoordinatorMessage&)>& spoil,
                   const std::string& text) {
  const StatusOr<CoordinatorMessage> before = FromProto(message);
  EXPECT_TRUE(before.ok()) << before.status().ToString();
  spoil(message);
  const StatusOr<CoordinatorMessage> after = FromProto(message);
  ASSERT_FALSE(after.ok()) << text;
  EXPECT_EQ(after.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(after.status().message(), HasSubstr(text));
}

TEST(HostileMessages, AMessageOfNoKnownKindIsRefused) {
  EXPECT_THAT(FromProto(v1::WorkerMessage()).status().message(), HasSubstr("no known kind"));
  EXPECT_THAT(FromProto(v1::CoordinatorMessage()).status().message(), HasSubstr("no known kind"));
}

TEST(HostileMessages, JoinFieldsAreBounded) {
  const v1::WorkerMessage good = ToProto(WorkerMessage(JoinMessage{}));
  const auto refuse = [&](const std::function<void(v1::Join&)>& spoil, const std::string& text) {
    ExpectRefused(
        good, [&](v1::WorkerMessage& m) { spoil(*m.mutable_join()); }, text);
  };
  refuse([](v1::Join& j) { j.set_host(std::string(1025, 'h')); },
         "Join: host has 1025 bytes, the limit is 1024");
  refuse([](v1::Join& j) { j.set_software(std::string(1025, 's')); }, "software has 1025 bytes");
  refuse([](v1::Join& j) { j.set_host("a\x1b[2J"); },
         "host has the control character 0x1b at byte 1");
  refuse([](v1::Join& j) { j.set_process_id(-1); }, "process_id is -1");
  refuse([](v1::Join& j) { j.set_requested_worker(-1); }, "requested_worker is -1");
  refuse([](v1::Join& j) { j.set_requested_worker(kMaxWorkers); }, "requested_worker is 65536");
  refuse([](v1::Join& j) { j.set_visible_cores(-2); }, "visible_cores is -2");
  refuse([](v1::Join& j) { j.set_usable_cores(1 << 30); }, "usable_cores is 1073741824");
  refuse([](v1::Join& j) { j.set_quota_cores(kNan); }, "quota_cores is nan");
  refuse([](v1::Join& j) { j.set_quota_cores(-0.5); }, "quota_cores is -0.5");
}

TEST(HostileMessages, ALayoutThatDoesNotMatchItsSignatureIsRefused) {
  const auto refuse = [&](const std::function<void(v1::BaseOffer&)>& spoil,
                          const std::string& text) {
    ExpectRefused(
        GoodOffer(), [&](v1::WorkerMessage& m) { spoil(*m.mutable_base_offer()); }, text);
  };
  refuse([](v1::BaseOffer& o) { o.mutable_tensors(0)->set_name("v"); },
         "the layout's signature is announced as");
  refuse([](v1::BaseOffer& o) { o.mutable_signature()->set_low(1); },
         "the layout's signature is announced as");
  refuse([](v1::BaseOffer& o) { o.clear_signature(); },
         "1 tensors with 128 values in chunks of 64 give");
  refuse([](v1::BaseOffer& o) { o.add_chunk_hashes(); },
         "3 chunk hashes, but the layout has 2 chunks");
  refuse([](v1::BaseOffer& o) { o.clear_chunk_hashes(); }, "0 chunk hashes");
  refuse([](v1::BaseOffer& o) { o.set_chunk_params(65); }, "chunk_params is 65");
  refuse([](v1::BaseOffer& o) { o.set_threads(-1); }, "threads is -1");
  refuse([](v1::BaseOffer& o) { o.mutable_tensors(0)->set_shape(0, -64); },
         "each dimension must be at least 1");
  refuse([](v1::BaseOffer& o) { o.mutable_tensors(0)->set_shape(0, 1ll << 60); }, "has more than");
  refuse([](v1::BaseOffer& o) { o.clear_tensors(); }, "at least one parameter");
}

TEST(HostileMessages, LayoutCountsAreBoundedBeforeTheLayoutIsMade) {
  const auto refuse = [&](const std::function<void(v1::BaseOffer&)>& spoil,
                          const std::string& text) {
    ExpectRefused(
        GoodOffer(), [&](v1::WorkerMessage& m) { spoil(*m.mutable_base_offer()); }, text);
  };
  refuse(
      [](v1::BaseOffer& o) {
        for (int i = 0; i < 100'000; ++i) o.add_tensors();
      },
      "the number of tensors is 100001");
  refuse(
      [](v1::BaseOffer& o) {
        for (int i = 0; i < 15; ++i) o.mutable_tensors(0)->add_shape(1);
      },
      "the number of dimensions of tensor 0 is 17");
}

TEST(HostileMessages, ProgressBeyondItsStepsIsRefused) {
  const v1::WorkerMessage good =
      ToProto(WorkerMessage(ProgressMessage{.steps_done = 20, .steps = 20}));
  ExpectRefused(
      good, [](auto& m) { m.mutable_progress()->set_steps_done(21); },
      "steps_done is 21, the limit is 20");
  ExpectRefused(
      good, [](auto& m) { m.mutable_progress()->set_loss(kNan); }, "loss is nan");
}

TEST(HostileMessages, ReportFieldsAreBounded) {
  const auto refuse = [&](const std::function<void(v1::RoundReport&)>& spoil,
                          const std::string& text) {
    ExpectRefused(
        GoodReport(), [&](v1::WorkerMessage& m) { spoil(*m.mutable_round_report()); }, text);
  };
  refuse([](v1::RoundReport& r) { r.clear_root(); }, "the report of round 1 has no root");
  refuse([](v1::RoundReport& r) { r.set_samples(kMaxSamples + 1); }, "samples is 281474976710657");
  refuse([](v1::RoundReport& r) { r.set_mean_loss(kNan); }, "mean_loss is nan");
  refuse([](v1::RoundReport& r) { r.set_last_loss(-std::numeric_limits<double>::infinity()); },
         "last_loss is -inf");
  refuse([](v1::RoundReport& r) { r.set_repaired_chunks(~0u); }, "repaired_chunks is 4294967295");
  refuse([](v1::RoundReport& r) { r.set_upload_bytes(~0ull); }, "upload_bytes is");
  refuse([](v1::RoundReport& r) { r.set_download_bytes(~0ull); }, "download_bytes is");
}

TEST(HostileMessages, CaughtUpFieldsAreBounded) {
  const v1::WorkerMessage good = ToProto(WorkerMessage(CaughtUpMessage{.round = 1}));
  ExpectRefused(
      good, [](auto& m) { m.mutable_caught_up()->set_bytes(~0ull); }, "CaughtUp: bytes is");
  ExpectRefused(
      good, [](auto& m) { m.mutable_caught_up()->mutable_account()->add_spans(); },
      "CaughtUp: span 0: phase is 0");
}

TEST(HostileMessages, SpansAreChecked) {
  const auto refuse = [&](const std::function<void(v1::Span&)>& spoil, const std::string& text) {
    ExpectRefused(
        GoodReport(),
        [&](v1::WorkerMessage& m) {
          spoil(*m.mutable_round_report()->mutable_account()->mutable_spans(0));
        },
        "span 0: " + text);
  };
  refuse([](v1::Span& s) { s.set_phase(0); }, "phase is 0");
  refuse([](v1::Span& s) { s.set_phase(31); }, "phase 31 is unknown");
  refuse([](v1::Span& s) { s.set_phase(static_cast<uint32_t>(Phase::kMerge)); }, "phase is 41");
  refuse([](v1::Span& s) { s.set_begin_ns(-1); }, "begin_ns is -1");
  refuse([](v1::Span& s) { s.set_duration_ns(-1); }, "duration_ns is -1");
  refuse([](v1::Span& s) { s.set_duration_ns(std::numeric_limits<int64_t>::max()); },
         "duration_ns is");
  refuse([](v1::Span& s) { s.set_duration_ns(int64_t{1} << 56); }, "duration_ns is");
  refuse([](v1::Span& s) { s.set_begin_ns(int64_t{1} << 61); }, "begin_ns is");
  refuse([](v1::Span& s) { s.set_busy_ns(6); }, "busy_ns is 6, but must be 0 to 5");
  refuse([](v1::Span& s) { s.set_busy_ns(-1); }, "busy_ns is -1");
  refuse([](v1::Span& s) { s.set_cpu_ns(-1); }, "cpu_ns is -1");
  refuse([](v1::Span& s) { s.set_run_delay_ns(-1); }, "run_delay_ns is -1");
  refuse([](v1::Span& s) { s.set_blocked_ns(-1); }, "blocked_ns is -1");
  refuse([](v1::Span& s) { s.set_bytes(~0ull); }, "bytes is");
}

TEST(HostileMessages, WhatAnAccountHoldsBesidesSpansIsChecked) {
  const auto refuse = [&](const std::function<void(v1::Account&)>& spoil, const std::string& text) {
    ExpectRefused(
        GoodReport(),
        [&](v1::WorkerMessage& m) { spoil(*m.mutable_round_report()->mutable_account()); }, text);
  };
  refuse([](auto& a) { a.add_stamps()->set_phase(41); }, "entry of stamp 0: phase is 41");
  refuse(
      [](auto& a) {
        a.add_stamps()->set_phase(2);
        a.mutable_stamps(0)->set_stamps("\x01");
      },
      "entry of stamp 0: chunk stamps");
  refuse([](auto& a) { a.add_samples()->set_at_ns(-1); }, "sample 0: at_ns is -1");
  refuse([](auto& a) { a.add_samples()->add_values(-2); }, "sample 0: interval_ns is -2");
  refuse([](auto& a) { a.add_memory()->set_bytes(-1); }, "memory record 0: bytes is -1");
  refuse([](auto& a) { a.add_memory()->set_owner(std::string(65, 'a')); },
         "memory record 0: owner");
  refuse([](auto& a) { a.add_memory()->set_owner("\x1b[2J"); }, "memory record 0: owner");
  refuse([](auto& a) { a.add_probes()->set_sent_ns(-1); }, "clock probe 0: sent_ns is -1");
  refuse([](auto& a) { a.add_probes()->set_returned_after_ns(-1); }, "returned_after_ns is -1");
  refuse(
      [](auto& a) {
        for (int i = 0; i <= kMaxSamplesPerMessage; ++i) a.add_probes();
      },
      "the number of clock probes is");
}

TEST(HostileMessages, ASampleOfANewerWorkerIsReadAsFarAsItIsKnown) {
  v1::WorkerMessage message = GoodReport();
  v1::ProcessSample& sample = *message.mutable_round_report()->mutable_account()->add_samples();
  for (size_t i = 0; i < kSampleFields.size() + 2; ++i) sample.add_values(7);
  const auto read = FromProto(message);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(std::get<RoundReportMessage>(*read).account.samples.at(0).tcp_round_trip_ns, 7);
}

TEST(HostileMessages, TheNumberOfSpansIsBoundedInEveryMessageThatCarriesThem) {
  const auto crowd = [](auto& message) {
    for (int i = 0; i <= kMaxSpansPerMessage; ++i)
      message.mutable_account()->add_spans()->set_phase(1);
  };
  const std::string text = "the number of spans is";
  ExpectRefused(
      GoodReport(), [&](auto& m) { crowd(*m.mutable_round_report()); }, text);
  ExpectRefused(
      GoodOffer(), [&](auto& m) { crowd(*m.mutable_base_offer()); }, text);
  ExpectRefused(
      ToProto(WorkerMessage(EvaluationReportMessage{})),
      [&](auto& m) { crowd(*m.mutable_evaluation_report()); }, text);
}

TEST(HostileMessages, EvaluationsThatCannotBeAreRefused) {
  const v1::WorkerMessage good =
      ToProto(WorkerMessage(EvaluationReportMessage{.correct = 5, .samples = 5}));
  ExpectRefused(
      good, [](auto& m) { m.mutable_evaluation_report()->set_correct(6); },
      "correct is 6, the limit is 5");
  ExpectRefused(
      good, [](auto& m) { m.mutable_evaluation_report()->set_samples(~0ull); }, "samples is");
  ExpectRefused(
      good, [](auto& m) { m.mutable_evaluation_report()->set_loss_sum(kNan); }, "loss_sum is nan");
}

TEST(HostileMessages, ConfusedClassesThatCannotBeAreRefused) {
  const v1::WorkerMessage good = ToProto(WorkerMessage(EvaluationReportMessage{
      .correct = 5, .samples = 8, .classes = 3, .top5 = 8, .confusion = {{0, 0, 5}, {2, 1, 3}}}));
  const auto refused = [&](auto change, const char* text) {
    ExpectRefused(
        good, [&](auto& m) { change(*m.mutable_evaluation_report()); }, text);
  };
  refused([](auto& r) { r.set_top5(4); }, "correct is 5, the limit is 4");
  refused([](auto& r) { r.set_top5(9); }, "top5 is 9, the limit is 8");
  refused([](auto& r) { r.set_classes(0); }, "classes");
  refused([](auto& r) { r.set_classes(4097); }, "classes");
  refused([](auto& r) { r.set_classes(2); }, "place 7 of 4");
  refused([](auto& r) { r.set_confusion_gaps(0, 0); }, "place -1");
  refused([](auto& r) { r.set_confusion_gaps(1, 0); }, "not in order");
  refused([](auto& r) { r.set_confusion_gaps(1, ~0u); }, "of 9");
  refused([](auto& r) { r.set_confusion_counts(0, 4); }, "of 7 samples");
  refused([](auto& r) { r.set_confusion_counts(0, ~0ull); }, "of 8 samples");
  refused([](auto& r) { r.add_confusion_gaps(1); }, "the number of their counts");
  refused(
      [](auto& r) {
        for (size_t i = 0; i <= kMostConfusionCells; ++i) r.add_confusion_gaps(1);
      },
      "the number of confused pairs");
}

TEST(HostileMessages, WhatTheDataAreIsBounded) {
  const auto refused = [](auto change, const char* text) {
    ExpectRefused(
        GoodOffer(), [&](auto& m) { change(*m.mutable_base_offer()); }, text);
  };
  refused(
      [](auto& o) {
        for (size_t i = 0; i <= kMostClassNames; ++i) o.add_class_names("x");
      },
      "the number of class names");
  refused([](auto& o) { o.add_class_names(std::string(257, 'x')); }, "a class name");
  refused([](auto& o) { o.add_class_names("\x1b[2J"); }, "a class name");
  refused([](auto& o) { o.add_pixel_mean(1); }, "the number of pixel deviations");
  refused(
      [](auto& o) {
        o.add_pixel_mean(static_cast<float>(kNan));
        o.add_pixel_deviation(1);
      },
      "a pixel mean");
  refused(
      [](auto& o) {
        o.add_pixel_mean(1);
        o.add_pixel_deviation(0);
      },
      "a pixel deviation is 0");
  refused(
      [](auto& o) {
        for (size_t i = 0; i <= kMostClassNames; ++i) o.add_train_pictures(1);
      },
      "the number of classes whose pictures are counted");
  refused([](auto& o) { o.add_train_pictures(1); },
          "the number of classes whose test pictures are counted");
  refused([](auto& o) { o.add_test_pictures(1); },
          "the number of classes whose test pictures are counted");
  refused(
      [](auto& o) {
        o.add_class_names("x");
        o.add_class_names("y");
        o.add_train_pictures(1);
        o.add_test_pictures(1);
      },
      "the number of classes whose pictures are counted");
  refused(
      [](auto& o) {
        o.add_train_pictures(1);
        o.add_test_pictures(kMaxSamples + 1);
      },
      "the pictures of a class");
}

TEST(HostileMessages, ReasonsAreBounded) {
  ExpectRefused(
      ToProto(WorkerMessage(LeaveMessage{})),
      [](auto& m) { m.mutable_leave()->set_reason(std::string(1025, 'x')); },
      "Leave: reason has 1025 bytes");
  ExpectRefused(
      ToProto(CoordinatorMessage(GoodbyeMessage{})),
      [](auto& m) { m.mutable_goodbye()->set_reason(std::string(1025, 'x')); },
      "Goodbye: reason has 1025");
}

TEST(HostileMessages, AGoodbyeWithAnUnknownCodeIsRefused) {
  ExpectRefused(
      ToProto(CoordinatorMessage(GoodbyeMessage{})),
      [](auto& m) { m.mutable_goodbye()->set_code(17); },
      "Goodbye: code is 17, but must be 0 to 16");
}

TEST(HostileMessages, WelcomeFieldsAreBounded) {
  const v1::CoordinatorMessage good =
      ToProto(CoordinatorMessage(WelcomeMessage{.worker = 1, .workers = 2}));
  const auto refuse = [&](const std::function<void(v1::Welcome&)>& spoil, const std::string& text) {
    ExpectRefused(
        good, [&](v1::CoordinatorMessage& m) { spoil(*m.mutable_welcome()); }, text);
  };
  refuse([](v1::Welcome& w) { w.set_worker(2); }, "worker is 2, but must be 0 to 1");
  refuse([](v1::Welcome& w) { w.set_worker(-1); }, "worker is -1");
  refuse([](v1::Welcome& w) { w.set_workers(0); }, "workers is 0");
  refuse([](v1::Welcome& w) { w.set_workers(kMaxWorkers + 1); }, "workers is 65537");
  refuse([](v1::Welcome& w) { w.set_run_id(std::string(1025, 'x')); }, "run_id has 1025 bytes");
  refuse([](v1::Welcome& w) { w.set_config_toml(std::string(kMaxConfigBytes + 1, 'x')); },
         "config_toml is 1048577");
}

TEST(HostileMessages, StartAndFinishFieldsAreBounded) {
  const v1::CoordinatorMessage start =
      ToProto(CoordinatorMessage(StartRoundMessage{.round = 3, .evaluate = true}));
  ExpectRefused(
      start, [](auto& m) { m.mutable_start_round()->clear_base_root(); },
      "round 3 has no base_root");
  ExpectRefused(
      start, [](auto& m) { m.mutable_start_round()->set_evaluation_parts(0); },
      "evaluation part 0 of 0");
  ExpectRefused(
      start, [](auto& m) { m.mutable_start_round()->set_evaluation_part(1); },
      "evaluation part 1 of 1");
  ExpectRefused(
      ToProto(CoordinatorMessage(CatchUpMessage{})),
      [](auto& m) {
        auto& rounds = *m.mutable_catch_up()->mutable_chunk_rounds();
        rounds.Resize(static_cast<int>(kMaxChunks) + 1, 0);
      },
      "CatchUp: the number of chunk_rounds is 1048577");
  ExpectRefused(
      ToProto(CoordinatorMessage(FinishMessage{})),
      [](auto& m) { m.mutable_finish()->set_evaluation_part(4); },
      "Finish: evaluation part 4 of 1");
}

TEST(HostileMessages, UploadHeadersAreChecked) {
  const v1::UploadHeader good = ToProto(UploadHeader{.worker = 1});
  ASSERT_TRUE(FromProto(good).ok());
  const auto refuse = [&](const std::function<void(v1::UploadHeader&)>& spoil,
                          const std::string& text) {
    v1::UploadHeader header = good;
    spoil(header);
    EXPECT_EQ(FromProto(header).status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(FromProto(header).status().message(), HasSubstr(text));
  };
  refuse([](auto& h) { h.set_worker(-1); }, "worker is -1");
  refuse([](auto& h) { h.set_kind(static_cast<v1::UploadKind>(7)); }, "upload kind 7 is unknown");
  refuse([](auto& h) { h.clear_kind(); }, "upload kind 0 is unknown");
  refuse([](auto& h) { h.set_codec(static_cast<v1::Codec>(9)); }, "codec 9 is unknown");
  refuse([](auto& h) { h.clear_codec(); }, "codec 0 is unknown");
  refuse([](auto& h) { h.set_kind(v1::UPLOAD_KIND_BASE); }, "a base is uploaded as fp32");
  refuse([](auto& h) { h.set_samples(kMaxSamples + 1); }, "samples is");
}

TEST(HostileMessages, DownloadRequestsAreChecked) {
  const v1::DownloadRequest good = ToProto(DownloadOrder{});
  ASSERT_TRUE(FromProto(good).ok());
  const auto refuse = [&](const std::function<void(v1::DownloadRequest&)>& spoil,
                          const std::string& text) {
    v1::DownloadRequest request = good;
    spoil(request);
    EXPECT_EQ(FromProto(request).status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(FromProto(request).status().message(), HasSubstr(text));
  };
  refuse([](auto& r) { r.set_worker(-1); }, "worker is -1");
  refuse([](auto& r) { r.set_kind(static_cast<v1::DownloadKind>(3)); },
         "download kind 3 is unknown");
  refuse([](auto& r) { r.clear_kind(); }, "download kind 0 is unknown");
  refuse([](auto& r) { r.mutable_chunks()->Resize(static_cast<int>(kMaxChunks) + 1, 0); },
         "the number of chunks is 1048577");
}

}  // namespace
}  // namespace interlude
