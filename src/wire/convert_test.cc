#include "wire/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

Span ExampleSpan() {
  return {.phase = Phase::kEncode,
          .round = 7,
          .begin_ns = 1'000'000'000'000,
          .end_ns = 1'000'000'500'000,
          .busy_ns = 400'000,
          .cpu_ns = 900'000,
          .run_delay_ns = 30,
          .bytes = 12345,
          .chunks = 3,
          .ok = false,
          .blocked_ns = 70};
}

Account ExampleAccount() {
  ProcessSample sample{.at_ns = 5'000'000'000, .interval_ns = 1'000'000'000};
  int64_t value = 0;
  for (const SampleField& field : kSampleFields) sample.*field.value = 1'000 * ++value;
  sample.throttled_ns = kUnknownFigure;
  return {.spans = {ExampleSpan(), ExampleSpan()},
          .stamps = {{.phase = Phase::kEncode,
                      .round = 7,
                      .stamps = {{0, 1'000'000'000'000, 1'000'000'100'000},
                                 {1, 1'000'000'001'000, 1'000'000'500'000}}}},
          .samples = {sample, ProcessSample{.at_ns = 6'000'000'000}},
          .memory = {{.at_ns = 5'000'000'000, .owner = "base", .bytes = 1 << 30}},
          .probes = {{.sent_ns = 100,
                      .received_ns = 9'000'000'000,
                      .replied_ns = 9'000'000'050,
                      .returned_ns = 400,
                      .run_delay_ns = 6}}};
}

Layout ExampleLayout() {
  return Layout::Create({{.name = "a.weight", .shape = {3, 50}}, {.name = "scale", .shape = {}}},
                        64)
      .value();
}

/// Through the wire format, as the other process would see it.
template <typename Kind>
Kind RoundTrip(const WorkerMessage& message) {
  v1::WorkerMessage proto;
  EXPECT_TRUE(proto.ParseFromString(ToProto(message).SerializeAsString()));
  StatusOr<WorkerMessage> back = FromProto(proto);
  EXPECT_TRUE(back.ok()) << back.status().ToString();
  return back.ok() ? std::get<Kind>(*back) : Kind{};
}

template <typename Kind>
Kind RoundTrip(const CoordinatorMessage& message) {
  v1::CoordinatorMessage proto;
  EXPECT_TRUE(proto.ParseFromString(ToProto(message).SerializeAsString()));
  StatusOr<CoordinatorMessage> back = FromProto(proto);
  EXPECT_TRUE(back.ok()) << back.status().ToString();
  return back.ok() ? std::get<Kind>(*back) : Kind{};
}

TEST(Convert, JoinCrossesTheWireUnchanged) {
  const JoinMessage back =
      RoundTrip<JoinMessage>(WorkerMessage(JoinMessage{.protocol_version = 9,
                                                       .software = "interlude 0.1",
                                                       .host = "höst",
                                                       .process_id = 4711,
                                                       .requested_worker = 0,
                                                       .visible_cores = 64,
                                                       .quota_cores = 1.5,
                                                       .usable_cores = 2,
                                                       .session = 0xfeed5eed}));
  EXPECT_EQ(back.protocol_version, 9u);
  EXPECT_EQ(back.software, "interlude 0.1");
  EXPECT_EQ(back.host, "höst");
  EXPECT_EQ(back.session, 0xfeed5eedu);
  EXPECT_EQ(back.process_id, 4711);
  EXPECT_EQ(back.requested_worker, std::optional<WorkerId>(0));
  EXPECT_EQ(back.visible_cores, 64);
  EXPECT_EQ(back.quota_cores, 1.5);
  EXPECT_EQ(back.usable_cores, 2);
}

TEST(Convert, JoinWithoutARequestedWorkerIsNotAJoinAsWorkerZero) {
  EXPECT_EQ(RoundTrip<JoinMessage>(WorkerMessage(JoinMessage{})).requested_worker, std::nullopt);
}

TEST(Convert, BaseOfferRebuildsTheLayout) {
  BaseOfferMessage offer{.layout = ExampleLayout(), .account = ExampleAccount(), .threads = 3};
  offer.data = {
      {"cat", "d\xC3\xB6g"}, {0.5f, 0.25f, 0.125f}, {1, 2, 3}, {.train = {0, 7}, .test = {9, 0}}};
  offer.chunk_hashes = {{1, 2}, {3, 4}, {5, 6}};
  const auto back = RoundTrip<BaseOfferMessage>(WorkerMessage(offer));
  EXPECT_EQ(back.layout.signature(), offer.layout.signature());
  EXPECT_EQ(back.layout.parameters(), offer.layout.parameters());
  EXPECT_EQ(back.chunk_hashes, offer.chunk_hashes);
  EXPECT_EQ(back.account, offer.account);
  EXPECT_EQ(back.threads, 3);
  EXPECT_EQ(back.data, offer.data);
  EXPECT_TRUE(back.may_provide);
  offer.may_provide = false;
  EXPECT_FALSE(RoundTrip<BaseOfferMessage>(WorkerMessage(offer)).may_provide);
}

TEST(Convert, ClassNamesAreMadeAcceptableBeforeTheyAreSent) {
  BaseOfferMessage offer{.layout = ExampleLayout()};
  offer.chunk_hashes.resize(3);
  offer.data.classes = {
      "a\x01"
      "b",
      std::string(1000, 'x')};
  const auto back = RoundTrip<BaseOfferMessage>(WorkerMessage(offer));
  EXPECT_EQ(back.data.classes,
            (std::vector<std::string>{"a?b", std::string(kMostClassNameBytes, 'x')}));
  offer.data.classes.assign(kMostClassNames + 1, "x");
  EXPECT_TRUE(RoundTrip<BaseOfferMessage>(WorkerMessage(offer)).data.empty());
}

TEST(Convert, ProgressCrossesTheWireUnchanged) {
  const auto back = RoundTrip<ProgressMessage>(
      WorkerMessage(ProgressMessage{.round = 3, .steps_done = 4, .steps = 20, .loss = 0.25}));
  EXPECT_EQ(back.round, 3u);
  EXPECT_EQ(back.steps_done, 4u);
  EXPECT_EQ(back.steps, 20u);
  EXPECT_EQ(back.loss, 0.25);
}

TEST(Convert, CaughtUpCrossesTheWireUnchanged) {
  const auto back =
      RoundTrip<CaughtUpMessage>(WorkerMessage(CaughtUpMessage{.round = 6,
                                                               .base_chunks = 2,
                                                               .sync_chunks = 11,
                                                               .bytes = 1ull << 40,
                                                               .account = ExampleAccount()}));
  EXPECT_EQ(back.round, 6u);
  EXPECT_EQ(back.base_chunks, 2u);
  EXPECT_EQ(back.sync_chunks, 11u);
  EXPECT_EQ(back.bytes, 1ull << 40);
  EXPECT_EQ(back.account, ExampleAccount());
}

TEST(Convert, RoundReportCrossesTheWireUnchanged) {
  const RoundReportMessage report{.round = 5,
                                  .root = {~uint64_t{0}, 1},
                                  .samples = 1280,
                                  .mean_loss = 0.5,
                                  .last_loss = -0.125,
                                  .repaired_chunks = 2,
                                  .upload_bytes = 1ull << 40,
                                  .download_bytes = 77,
                                  .account = ExampleAccount()};
  const auto back = RoundTrip<RoundReportMessage>(WorkerMessage(report));
  EXPECT_EQ(back.round, report.round);
  EXPECT_EQ(back.root, report.root);
  EXPECT_EQ(back.samples, report.samples);
  EXPECT_EQ(back.mean_loss, report.mean_loss);
  EXPECT_EQ(back.last_loss, report.last_loss);
  EXPECT_EQ(back.repaired_chunks, report.repaired_chunks);
  EXPECT_EQ(back.upload_bytes, report.upload_bytes);
  EXPECT_EQ(back.download_bytes, report.download_bytes);
  EXPECT_EQ(back.account, report.account);
}

TEST(Convert, EvaluationReportCrossesTheWireUnchanged) {
  const auto back = RoundTrip<EvaluationReportMessage>(
      WorkerMessage(EvaluationReportMessage{.after_rounds = 12,
                                            .correct = 8123,
                                            .samples = 10000,
                                            .loss_sum = 4321.5,
                                            .account = ExampleAccount()}));
  EXPECT_EQ(back.after_rounds, 12u);
  EXPECT_EQ(back.correct, 8123u);
  EXPECT_EQ(back.samples, 10000u);
  EXPECT_EQ(back.loss_sum, 4321.5);
  EXPECT_EQ(back.account, ExampleAccount());
  EXPECT_EQ(back.classes, 0u);
}

TEST(Convert, WhichClassesWereConfusedCrossesTheWireUnchanged) {
  const EvaluationReportMessage report{
      .correct = 7,
      .samples = 16,
      .classes = 4096,
      .top5 = 12,
      .confusion = {{0, 0, 5}, {0, 4095, 3}, {1, 0, 1}, {4095, 0, 5}, {4095, 4095, 2}}};
  const auto back = RoundTrip<EvaluationReportMessage>(WorkerMessage(report));
  EXPECT_EQ(back.classes, 4096u);
  EXPECT_EQ(back.top5, 12u);
  EXPECT_EQ(back.confusion, report.confusion);
}

TEST(Convert, LeaveCrossesTheWireUnchanged) {
  const auto back = RoundTrip<LeaveMessage>(
      WorkerMessage(LeaveMessage{.failed = true, .reason = "NaN in\n\tconv1.weight"}));
  EXPECT_TRUE(back.failed);
  EXPECT_EQ(back.reason, "NaN in\n\tconv1.weight");
}

TEST(Convert, ALongOrUnprintableReasonIsMadeAcceptableBeforeItIsSent) {
  const std::string reason =
      "bad byte \xff, escape \x1b[2J, half a letter \xc3" + std::string(3000, 'x');
  const auto back = RoundTrip<LeaveMessage>(WorkerMessage(LeaveMessage{.reason = reason}));
  EXPECT_EQ(back.reason.size(), kMaxTextBytes);
  EXPECT_THAT(back.reason, ::testing::StartsWith("bad byte ?, escape ?[2J, half a letter ?xxx"));
}

TEST(Convert, ATextIsCutBetweenCharactersNotWithinOne) {
  std::string reason(kMaxTextBytes - 1, 'x');
  reason += "é";
  EXPECT_EQ(RoundTrip<LeaveMessage>(WorkerMessage(LeaveMessage{.reason = reason})).reason,
            std::string(kMaxTextBytes - 1, 'x'));
}

TEST(Convert, WelcomeCrossesTheWireUnchanged) {
  const auto back =
      RoundTrip<WelcomeMessage>(CoordinatorMessage(WelcomeMessage{.worker = 2,
                                                                  .workers = 3,
                                                                  .session = ~uint64_t{5},
                                                                  .run_id = "r-1",
                                                                  .config_toml = "seed = 1\n",
                                                                  .resumed = true,
                                                                  .last_number = 17}));
  EXPECT_EQ(back.worker, 2);
  EXPECT_EQ(back.workers, 3u);
  EXPECT_EQ(back.session, ~uint64_t{5});
  EXPECT_EQ(back.run_id, "r-1");
  EXPECT_EQ(back.config_toml, "seed = 1\n");
  EXPECT_TRUE(back.resumed);
  EXPECT_EQ(back.last_number, 17u);
}

TEST(Convert, StartRoundCrossesTheWireUnchanged) {
  const auto back =
      RoundTrip<StartRoundMessage>(CoordinatorMessage(StartRoundMessage{.round = 4,
                                                                        .evaluate = true,
                                                                        .evaluation_part = 1,
                                                                        .evaluation_parts = 3,
                                                                        .base_root = {9, 8}}));
  EXPECT_EQ(back.round, 4u);
  EXPECT_TRUE(back.evaluate);
  EXPECT_EQ(back.evaluation_part, 1u);
  EXPECT_EQ(back.evaluation_parts, 3u);
  EXPECT_EQ(back.base_root, (Hash128{9, 8}));
}

TEST(Convert, CatchUpCrossesTheWireUnchanged) {
  const auto back = RoundTrip<CatchUpMessage>(
      CoordinatorMessage(CatchUpMessage{.committed_rounds = 4, .chunk_rounds = {0, kNoBase, 5}}));
  EXPECT_EQ(back.committed_rounds, 4u);
  EXPECT_EQ(back.chunk_rounds, (std::vector<uint32_t>{0, kNoBase, 5}));
}

TEST(Convert, ShortCoordinatorMessagesCrossTheWireUnchanged) {
  const auto finish = RoundTrip<FinishMessage>(CoordinatorMessage(
      FinishMessage{.after_rounds = 12, .evaluation_part = 1, .evaluation_parts = 2}));
  EXPECT_EQ(finish.after_rounds, 12u);
  EXPECT_EQ(finish.evaluation_part, 1u);
  EXPECT_EQ(finish.evaluation_parts, 2u);
  const auto goodbye = RoundTrip<GoodbyeMessage>(
      CoordinatorMessage(GoodbyeMessage{.code = StatusCode::kDataLoss, .reason = "wrong root"}));
  EXPECT_EQ(goodbye.code, StatusCode::kDataLoss);
  EXPECT_EQ(goodbye.reason, "wrong root");
  RoundTrip<ProvideBaseMessage>(CoordinatorMessage(ProvideBaseMessage{}));
}

TEST(Convert, UploadHeaderCrossesTheWireUnchanged) {
  for (const UploadHeader& header :
       {UploadHeader{.worker = 3,
       .session = 9,
       .kind = UploadKind::kDelta,
       .round = 2,
       .codec = Codec::kQ4,
       .samples = 55,
       .chunks = {1, 7}},
        UploadHeader{.worker = 0, .round = 1, .codec = Codec::kQ8},
        UploadHeader{.worker = 0, .kind = UploadKind::kBase, .codec = Codec::kFp32}}) {
    const UploadHeader back = FromProto(ToProto(header)).value();
    EXPECT_EQ(back.worker, header.worker);
    EXPECT_EQ(back.session, header.session);
    EXPECT_EQ(back.kind, header.kind);
    EXPECT_EQ(back.round, header.round);
    EXPECT_EQ(back.codec, header.codec);
    EXPECT_EQ(back.samples, header.samples);
    EXPECT_EQ(back.chunks, header.chunks);
  }
}

TEST(Convert, AListOfChunksCrossesTheWireUnchanged) {
  EXPECT_EQ(FromProto(ToProto(std::vector<uint32_t>{0, 3, 9})).value(),
            (std::vector<uint32_t>{0, 3, 9}));
  EXPECT_TRUE(FromProto(ToProto(std::vector<uint32_t>{})).value().empty());
}

TEST(Convert, DownloadOrderCrossesTheWireUnchanged) {
  for (const DownloadKind kind : {DownloadKind::kSync, DownloadKind::kBase}) {
    const DownloadOrder back =
        FromProto(ToProto(DownloadOrder{
                      .worker = 1, .session = 6, .kind = kind, .round = 8, .chunks = {5, 2}}))
            .value();
    EXPECT_EQ(back.worker, 1);
    EXPECT_EQ(back.session, 6u);
    EXPECT_EQ(back.kind, kind);
    EXPECT_EQ(back.round, 8u);
    EXPECT_EQ(back.chunks, (std::vector<uint32_t>{5, 2}));
  }
}

TEST(Convert, EveryStatusCodeCrossesGrpcUnchanged) {
  for (int code = 1; code <= 16; ++code) {
    const Status status(static_cast<StatusCode>(code), "worker 3: layout differs: größer");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
  EXPECT_TRUE(FromGrpc(ToGrpc(OkStatus())).ok());
  EXPECT_EQ(FromGrpc(grpc::Status(static_cast<grpc::StatusCode>(20), "x")), UnknownError("x"));
}

TEST(Convert, ALongStatusIsCutToWhatTrailersHold) {
  const grpc::Status plain = ToGrpc(InternalError("{}", std::string(100'000, 'x')));
  EXPECT_EQ(plain.error_message().size(), 4096 + std::string(" [cut]").size());
  EXPECT_THAT(plain.error_message(), ::testing::EndsWith("x [cut]"));
  // Each of the two bytes of a letter beyond ASCII takes three in the trailers.
  std::string umlauts;
  for (int i = 0; i < 10'000; ++i) umlauts += "ä";
  const std::string cut = ToGrpc(InternalError("{}", umlauts)).error_message();
  EXPECT_EQ(cut.size(), 2 * (4096 / 6) + std::string(" [cut]").size());
}

}  // namespace
}  // namespace interlude
