// The critical path of rounds made by hand: the worked example of docs/report.md, and what happens
// where a worker is late or records are missing.
#include "analysis/round_path.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kNone = -1;

/// A round on the coordinator's clock in ms, recorded by processes whose clocks differ.
class Hand {
 public:
  explicit Hand(int64_t begin_ms, int64_t end_ms) {
    round_.round = 7;
    round_.begin_ns = begin_ms * kMs;
    round_.end_ns = end_ms * kMs;
  }
  /// `worker`'s clock + ms = the coordinator's.
  void Clock(int32_t worker, int64_t ms, int64_t error_ms) {
    shift_[worker] = ms;
    clocks_.push_back({.worker = worker,
                       .method = ClockMethod::kEnvelope,
                       .offset_ns = ms * kMs,
                       .error_ns = error_ms * kMs,
                       .probes = 50});
  }
  void Span(Phase phase, int32_t worker, int64_t begin_ms, int64_t end_ms) {
    interlude::Span span{.phase = phase, .round = 7};
    (IsWorkerPhase(phase) ? span.recorded_by : span.about_worker) = worker;
    span.begin_ns = Raw(phase, worker, begin_ms) * kMs;
    span.end_ns = Raw(phase, worker, end_ms) * kMs;
    spans_.push_back(span);
    Line(phase, worker, kNone, begin_ms, end_ms);
  }
  void Chunks(Phase phase, int32_t worker, std::vector<std::pair<int64_t, int64_t>> times) {
    ChunkStamps stamps{.phase = phase, .round = 7};
    (IsWorkerPhase(phase) ? stamps.recorded_by : stamps.about_worker) = worker;
    for (uint32_t chunk = 0; chunk < times.size(); ++chunk) {
      stamps.stamps.push_back({chunk, Raw(phase, worker, times[chunk].first) * kMs,
                               Raw(phase, worker, times[chunk].second) * kMs});
      Line(phase, worker, chunk, times[chunk].first, times[chunk].second);
    }
    stamps_.push_back(std::move(stamps));
  }
  void Event(const std::string& kind, int32_t worker, int64_t at_ms) {
    events_.push_back({.at_ns = at_ms * kMs, .worker = worker, .kind = kind});
  }
  void Threads(int32_t process, int32_t threads) { threads_[process] = threads; }
  /// Of a worker with one thread.
  void Sample(int32_t worker, int64_t begin_ms, int64_t end_ms, int64_t throttled_ms,
              int64_t run_delay_ms, int64_t cpu_ms) {
    const auto shift = shift_.find(worker);
    const int64_t raw_end_ms = end_ms - (shift == shift_.end() ? 0 : shift->second);
    samples_.push_back({.recorded_by = worker,
                        .at_ns = raw_end_ms * kMs,
                        .interval_ns = (end_ms - begin_ms) * kMs,
                        .cpu_ns = cpu_ms * kMs,
                        .run_delay_ns = run_delay_ms * kMs,
                        .throttled_ns = throttled_ms * kMs});
  }

  RoundPath Path(bool barrier = false) const {
    std::vector<WorkerRecord> workers;
    for (const ProcessSample& sample : samples_)
      workers.push_back({.worker = sample.recorded_by, .visible_cores = 8, .threads = 1});
    const ThrottlingByWorker throttling = FindThrottling(workers, samples_);
    return FindRoundPath(
        {round_, spans_, stamps_, events_, clocks_, barrier, threads_, &throttling});
  }
  /// Of the table in docs/report.md.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  int64_t Raw(Phase phase, int32_t worker, int64_t ms) const {
    const auto found = shift_.find(worker);
    return IsWorkerPhase(phase) && found != shift_.end() ? ms - found->second : ms;
  }
  void Line(Phase phase, int32_t worker, int64_t chunk, int64_t begin_ms, int64_t end_ms) {
    const bool of_worker = IsWorkerPhase(phase);
    lines_.push_back(fmt::format("| {} | {} | {} | {} | {} | {} |", PhaseName(phase),
                                 of_worker ? std::to_string(worker) : "coordinator",
                                 of_worker || worker == kNoWorker ? "" : std::to_string(worker),
                                 chunk == kNone ? "" : std::to_string(chunk),
                                 Raw(phase, worker, begin_ms), Raw(phase, worker, end_ms)));
  }

  RoundRecord round_;
  std::map<int32_t, int64_t> shift_;
  std::vector<interlude::Span> spans_;
  std::vector<ChunkStamps> stamps_;
  std::vector<EventRecord> events_;
  std::vector<ClockEstimate> clocks_;
  std::map<int32_t, int32_t> threads_;
  std::vector<ProcessSample> samples_;
  std::vector<std::string> lines_;
};

/// Two workers, two chunks, one thread each; worker 1 is slower at most things.
Hand Example() {
  Hand hand(1000, 1093);
  hand.Clock(0, -500, 1);
  hand.Clock(1, 300, 1);
  for (const int32_t process : {kNoWorker, 0, 1}) hand.Threads(process, 1);
  hand.Span(Phase::kStart, 0, 980, 981);
  hand.Span(Phase::kStart, 1, 980, 981);
  hand.Span(Phase::kAwaitRound, 0, 975, 982);
  hand.Span(Phase::kTrain, 0, 983, 1030);
  hand.Chunks(Phase::kEncode, 0, {{1030, 1036}, {1036, 1042}});
  hand.Chunks(Phase::kUpload, 0, {{1036, 1038}, {1042, 1044}});
  hand.Span(Phase::kAwaitRound, 1, 998, 998);
  hand.Span(Phase::kTrain, 1, 999, 1050);
  hand.Chunks(Phase::kEncode, 1, {{1050, 1058}, {1058, 1066}});
  hand.Chunks(Phase::kUpload, 1, {{1058, 1061}, {1066, 1069}});
  hand.Chunks(Phase::kReceive, 0, {{1039, 1041}, {1045, 1047}});
  hand.Chunks(Phase::kReceive, 1, {{1060, 1063}, {1068, 1072}});
  hand.Chunks(Phase::kDecide, kNoWorker, {{1064, 1064}, {1073, 1073}});
  hand.Chunks(Phase::kMerge, kNoWorker, {{1064, 1068}, {1073, 1077}});
  hand.Chunks(Phase::kDecide, kNoWorker, {{1068, 1069}, {1077, 1078}});
  hand.Chunks(Phase::kSend, 0, {{1069, 1070}, {1078, 1079}});
  hand.Chunks(Phase::kSend, 1, {{1069, 1071}, {1078, 1080}});
  hand.Chunks(Phase::kDownload, 0, {{1072, 1073}, {1081, 1082}});
  hand.Chunks(Phase::kApply, 0, {{1073, 1077}, {1082, 1087}});
  hand.Span(Phase::kVerify, 0, 1087, 1088);
  hand.Chunks(Phase::kDownload, 1, {{1071, 1073}, {1081, 1083}});
  hand.Chunks(Phase::kApply, 1, {{1073, 1077}, {1083, 1088}});
  hand.Span(Phase::kVerify, 1, 1088, 1090);
  hand.Span(Phase::kReport, 0, 1091, 1091);
  hand.Span(Phase::kReport, 1, 1092, 1092);
  return hand;
}

/// "train 1 1000..1050 ±1"
std::vector<std::string> Describe(const RoundPath& path) {
  std::vector<std::string> lines;
  for (const PathPiece& piece : path.pieces) {
    std::string line(ActivityName(piece.what));
    if (piece.worker != kNoWorker) line += fmt::format(" w{}", piece.worker);
    if (piece.chunk != kNoChunk) line += fmt::format(" c{}", piece.chunk);
    line += fmt::format(" {}..{}", piece.begin_ns / kMs, piece.end_ns / kMs);
    if (piece.error_ns != 0) line += fmt::format(" ±{}", piece.error_ns / kMs);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string ReportPage() {
  std::ifstream file(INTERLUDE_SOURCE_DIR "/docs/report.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string DocLine(const PathPiece& piece, int64_t begin_ns) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |", ActivityName(piece.what),
                     piece.worker == kNoWorker ? "coordinator" : std::to_string(piece.worker),
                     piece.chunk == kNoChunk ? "" : std::to_string(piece.chunk),
                     (piece.begin_ns - begin_ns) / kMs, (piece.end_ns - begin_ns) / kMs,
                     (piece.end_ns - piece.begin_ns) / kMs,
                     piece.error_ns == 0 ? "" : fmt::format("±{}", piece.error_ns / kMs));
}

TEST(RoundPath, OfTheWorkedExampleIsWhatOneFindsByHand) {
  const RoundPath path = Example().Path();
  EXPECT_THAT(Describe(path), ElementsAre("train w1 1000..1050 ±1", "encode w1 c0 1050..1058",
                                          "encode w1 c1 1058..1066", "upload w1 c1 1066..1069",
                                          "link_up w1 c1 1069..1072 ±1", "hand_over c1 1072..1073",
                                          "merge c1 1073..1077", "decide c1 1077..1078",
                                          "send w1 c1 1078..1080", "link_down w1 c1 1080..1083 ±1",
                                          "apply w1 c1 1083..1088", "verify w1 1088..1090",
                                          "report w1 1090..1092 ±1", "hand_over 1092..1093"));
  EXPECT_EQ(path.unexplained_ns, 0);
  EXPECT_THAT(path.notes, testing::IsEmpty());
  ASSERT_EQ(path.workers.size(), 2u);
  EXPECT_EQ(path.workers[0].slack_ns, 1 * kMs);
  EXPECT_EQ(path.workers[0].drag_ns, 0);
  EXPECT_EQ(path.workers[1].slack_ns, 0);
  EXPECT_EQ(path.workers[1].drag_ns, 11 * kMs);
  EXPECT_EQ(path.workers[0].clock.source, ClockSource::kProbes);
  EXPECT_EQ(path.workers[0].clock.shift_ns, -500 * kMs);
}

TEST(RoundPath, TheWorkedExampleOfTheDocsIsThisOne) {
  const std::string page = ReportPage();
  const Hand example = Example();
  std::string records, pieces;
  for (const std::string& line : example.lines()) records += line + "\n";
  const RoundPath path = example.Path();
  for (const PathPiece& piece : path.pieces) pieces += DocLine(piece, path.begin_ns) + "\n";
  EXPECT_THAT(page, HasSubstr(records));
  EXPECT_THAT(page, HasSubstr(pieces));
  for (const WorkerPath& worker : path.workers) {
    EXPECT_THAT(page, HasSubstr(fmt::format("| {} | {} | {} |\n", worker.worker,
                                            worker.slack_ns / kMs, worker.drag_ns / kMs)));
  }
}

TEST(RoundPath, AMessageThatWouldArriveBeforeItWasSentMovesTheClock) {
  Hand hand = Example();
  hand.Clock(1, 290, 5);  // 10 ms off: the estimate that counts is the last
  const RoundPath path = hand.Path();
  // The records are those of a shift of 300; the start was 18 ms ahead, sync chunks took 2 ms.
  EXPECT_EQ(path.workers[1].clock.source, ClockSource::kClamped);
  EXPECT_EQ(path.workers[1].clock.shift_ns, 298 * kMs);
}

TEST(RoundPath, WithoutProbesTheClockComesFromCausalityAndIsMarked) {
  Hand hand(1000, 1093);
  hand.Span(Phase::kTrain, 0, 1001, 1040);
  hand.Chunks(Phase::kEncode, 0, {{1040, 1050}});
  hand.Chunks(Phase::kUpload, 0, {{1050, 1052}});
  hand.Chunks(Phase::kReceive, 0, {{1054, 1058}});
  hand.Chunks(Phase::kMerge, kNoWorker, {{1058, 1060}});
  hand.Chunks(Phase::kSend, 0, {{1060, 1061}});
  hand.Chunks(Phase::kDownload, 0, {{1062, 1064}});
  hand.Chunks(Phase::kApply, 0, {{1064, 1080}});
  hand.Span(Phase::kVerify, 0, 1080, 1090);
  hand.Span(Phase::kReport, 0, 1093, 1093);
  const RoundPath path = hand.Path();
  ASSERT_EQ(path.workers.size(), 1u);
  // Up at least 3 ms (the report), down at least 2 ms: the middle is 0.5 ms off.
  EXPECT_EQ(path.workers[0].clock.source, ClockSource::kCausality);
  EXPECT_EQ(path.workers[0].clock.shift_ns, kMs / 2);
  EXPECT_EQ(path.workers[0].clock.error_ns, 5 * kMs / 2);
  EXPECT_THAT(path.notes, ElementsAre(HasSubstr("worker 0: clock from causality")));
  EXPECT_EQ(path.workers[0].drag_ns, 0) << "one worker is its own median";
}

TEST(RoundPath, ALateWorkerIsWaitedForUntilTheRoundGoesOnWithoutIt) {
  Hand hand(1000, 1093);
  hand.Clock(0, 0, 0);
  hand.Span(Phase::kTrain, 0, 1000, 1010);
  hand.Chunks(Phase::kEncode, 0, {{1010, 1012}});
  hand.Chunks(Phase::kUpload, 0, {{1012, 1014}});
  hand.Chunks(Phase::kReceive, 0, {{1014, 1016}});
  hand.Event("late", 1, 1080);
  hand.Chunks(Phase::kReceive, 1, {{1085, 1087}});  // after all, and in vain
  hand.Chunks(Phase::kMerge, kNoWorker, {{1081, 1083}});
  hand.Chunks(Phase::kSend, 0, {{1083, 1084}});
  hand.Chunks(Phase::kDownload, 0, {{1084, 1085}});
  hand.Chunks(Phase::kApply, 0, {{1085, 1087}});
  hand.Span(Phase::kVerify, 0, 1087, 1090);
  hand.Span(Phase::kReport, 0, 1093, 1093);
  EXPECT_THAT(
      Describe(hand.Path()),
      ElementsAre("train w0 1000..1010", "encode w0 c0 1010..1012", "upload w0 c0 1012..1014",
                  "link_up w0 c0 1014..1016", "wait_deadline w1 1016..1080",
                  "unexplained c0 1080..1081", "merge c0 1081..1083", "send w0 c0 1083..1084",
                  "link_down w0 c0 1084..1085", "apply w0 c0 1085..1087", "verify w0 1087..1090",
                  "report w0 1090..1093"));
}

TEST(RoundPath, ARoundThatEndsWithoutAReportWaitedForIt) {
  Hand hand(1000, 1093);
  hand.Chunks(Phase::kMerge, kNoWorker, {{1010, 1020}});
  hand.Span(Phase::kReport, 0, 1030, 1030);
  hand.Event("worker_left", 1, 1090);
  EXPECT_THAT(Describe(hand.Path()),
              ElementsAre("unexplained w0 1000..1030", "wait_deadline w1 1030..1090",
                          "unexplained 1090..1093"));
}

TEST(RoundPath, WhereNoSendWasRecordedTheWorkersOwnWaitStandsForIt) {
  Hand hand(1000, 1050);
  hand.Clock(0, 0, 0);
  hand.Span(Phase::kTrain, 0, 1000, 1010);
  hand.Chunks(Phase::kEncode, 0, {{1010, 1012}});
  hand.Chunks(Phase::kUpload, 0, {{1012, 1014}});
  hand.Span(Phase::kWait, 0, 1014, 1040);
  hand.Chunks(Phase::kDownload, 0, {{1040, 1042}});
  hand.Chunks(Phase::kApply, 0, {{1042, 1044}});
  hand.Span(Phase::kVerify, 0, 1044, 1045);
  hand.Span(Phase::kReport, 0, 1050, 1050);
  EXPECT_THAT(
      Describe(hand.Path()),
      ElementsAre("train w0 1000..1010", "encode w0 c0 1010..1012", "upload w0 c0 1012..1014",
                  "wait w0 1014..1040", "download w0 c0 1040..1042", "apply w0 c0 1042..1044",
                  "verify w0 1044..1045", "report w0 1045..1050"));
}

TEST(RoundPath, AWholePhaseCountsFromWhereTheOneBeforeItEnded) {
  // As recorded before there were chunk stamps: phases overlap, the last chunk's way is the path.
  Hand hand(1000, 1100);
  hand.Clock(0, 0, 0);
  hand.Span(Phase::kTrain, 0, 1000, 1040);
  hand.Span(Phase::kEncode, 0, 1040, 1060);
  hand.Span(Phase::kUpload, 0, 1045, 1064);
  hand.Span(Phase::kReceive, 0, 1047, 1067);
  hand.Span(Phase::kMerge, kNoWorker, 1050, 1071);
  hand.Span(Phase::kSend, 0, 1055, 1073);
  hand.Span(Phase::kDownload, 0, 1056, 1076);
  hand.Span(Phase::kApply, 0, 1057, 1081);
  hand.Span(Phase::kVerify, 0, 1081, 1090);
  const RoundPath path = hand.Path();
  EXPECT_THAT(Describe(path),
              ElementsAre("train w0 1000..1040", "encode w0 1040..1060", "upload w0 1060..1064",
                          "link_up w0 1064..1067", "merge 1067..1071", "send w0 1071..1073",
                          "link_down w0 1073..1076", "apply w0 1076..1081", "verify w0 1081..1090",
                          "unexplained 1090..1100"));
  EXPECT_THAT(path.notes, ElementsAre(HasSubstr("no chunk stamps")));
}

/// One worker, one chunk; between encode and upload, and before the round's end, nothing is
/// recorded.
RoundPath WithGaps(int64_t encoded_ms, int64_t ended_ms) {
  Hand hand(1000, ended_ms);
  hand.Clock(0, 0, 0);
  hand.Span(Phase::kTrain, 0, 1000, 1010);
  hand.Chunks(Phase::kEncode, 0, {{1010, encoded_ms}});
  hand.Chunks(Phase::kUpload, 0, {{1300, 1310}});
  hand.Chunks(Phase::kReceive, 0, {{1310, 1320}});
  hand.Chunks(Phase::kMerge, kNoWorker, {{1330, 1340}});
  hand.Span(Phase::kVerify, 0, 1345, 1350);
  hand.Span(Phase::kReport, 0, 1350, 1350);
  return hand.Path();
}

TEST(RoundPath, WhatIsHandedOverIsNamedUpToTenthsOfASecondAndUnexplainedBeyond) {
  EXPECT_EQ(WithGaps(1200, 1360).unexplained_ns, WithGaps(1200, 1450).unexplained_ns);
  EXPECT_EQ(WithGaps(1200, 1451).unexplained_ns - WithGaps(1200, 1450).unexplained_ns, 101 * kMs);
  EXPECT_EQ(WithGaps(1199, 1360).unexplained_ns - WithGaps(1200, 1360).unexplained_ns, 101 * kMs);
}

/// A worker's gap of 400 ms from training to encoding; what its samples say is added by `sample`.
template <typename Sample>
std::string GapOfWorker(const Sample& sample) {
  Hand hand(1000, 1500);
  hand.Clock(0, -5000, 1);
  hand.Span(Phase::kTrain, 0, 1000, 1010);
  hand.Chunks(Phase::kEncode, 0, {{1410, 1450}});
  hand.Chunks(Phase::kUpload, 0, {{1450, 1460}});
  hand.Chunks(Phase::kReceive, 0, {{1460, 1500}});
  sample(hand);
  return Describe(hand.Path()).at(1);
}

TEST(RoundPath, ALongerGapIsAHandOverWhereAQuotaIsSeenToHaveHeldTheWorkerUp) {
  const auto gap = [](int64_t throttled_ms, int64_t run_delay_ms, int64_t cpu_ms) {
    return GapOfWorker([&](Hand& hand) {
      hand.Sample(0, 910, 1210, 0, 0, 0);  // until the middle of the gap: nothing
      hand.Sample(0, 1210, 1410, throttled_ms, run_delay_ms, cpu_ms);
    });
  };
  EXPECT_EQ(gap(200, 200, 100), "hand_over w0 c0 1010..1410");
  EXPECT_EQ(gap(199, 200, 100), "unexplained w0 c0 1010..1410") << "throttled for less than half";
  EXPECT_EQ(gap(200, 199, 100), "unexplained w0 c0 1010..1410")
      << "its group was throttled, but its own threads were ready for less than half";
  EXPECT_EQ(gap(200, 200, 101), "unexplained w0 c0 1010..1410") << "it had CPU time enough";
}

TEST(RoundPath, WithoutSamplesOfThrottlingALongerGapStaysUnexplained) {
  const std::string unexplained = "unexplained w0 c0 1010..1410";
  EXPECT_EQ(GapOfWorker([](Hand&) {}), unexplained);
  EXPECT_EQ(GapOfWorker([](Hand& hand) { hand.Sample(0, 910, 1510, 0, 600, 1); }), unexplained);
  EXPECT_EQ(GapOfWorker([](Hand& hand) { hand.Sample(0, 510, 1010, 500, 500, 1); }), unexplained)
      << "that was before";
  EXPECT_EQ(GapOfWorker([](Hand& hand) { hand.Sample(1, 910, 1510, 600, 600, 1); }), unexplained)
      << "that was another worker";
  EXPECT_EQ(GapOfWorker([](Hand& hand) { hand.Sample(0, 910, 1510, 600, -1, 1); }), unexplained)
      << "nobody knows whether its own threads were ready";
}

TEST(RoundPath, NoQuotaMakesAHandOverOfWhatIsNoPair) {
  Hand hand(1000, 1500);
  hand.Clock(0, 0, 0);
  hand.Span(Phase::kTrain, 0, 1000, 1010);
  hand.Span(Phase::kVerify, 0, 1410, 1500);
  hand.Span(Phase::kReport, 0, 1500, 1500);
  hand.Sample(0, 1000, 1500, 500, 500, 1);
  EXPECT_EQ(Describe(hand.Path()).at(1), "unexplained w0 1010..1410");
}

TEST(RoundPath, AGapThatTheRoundsBeginCutsIsMeasuredWhole) {
  const auto first_piece = [](int64_t stored_ms) {
    Hand hand(1200, 1300);
    hand.Clock(0, 0, 0);
    hand.Span(Phase::kLedger, kNoWorker, 900, stored_ms);
    hand.Span(Phase::kStart, 0, 1250, 1260);
    hand.Span(Phase::kAwaitRound, 0, 1200, 1270);
    hand.Span(Phase::kTrain, 0, 1270, 1290);
    hand.Span(Phase::kVerify, 0, 1290, 1300);
    hand.Span(Phase::kReport, 0, 1300, 1300);
    return Describe(hand.Path()).front();
  };
  EXPECT_EQ(first_piece(1150), "hand_over w0 1200..1250");
  EXPECT_EQ(first_piece(1149), "unexplained w0 1200..1250");
}

TEST(RoundPath, AWorkersGapThatTheRoundsBeginCutsIsAHandOverToo) {
  const auto pieces = [](int64_t trained_ms) {
    Hand hand(1000, 1100);
    hand.Clock(0, -500, 1);
    hand.Span(Phase::kTrain, 0, 800, trained_ms);
    hand.Chunks(Phase::kEncode, 0, {{1010, 1050}});
    hand.Chunks(Phase::kUpload, 0, {{1050, 1060}});
    hand.Chunks(Phase::kReceive, 0, {{1060, 1100}});
    return hand.Path().pieces;
  };
  EXPECT_EQ(pieces(990).at(0).what, ActivityKind::kHandOver);
  EXPECT_EQ(pieces(990).at(0).end_ns, 1010 * kMs);
  EXPECT_EQ(pieces(990).at(0).error_ns, 1 * kMs) << "it begins on the coordinator's clock";
  EXPECT_EQ(pieces(909).at(0).what, ActivityKind::kUnexplained);
}

TEST(RoundPath, WithoutARecordOfTheDecisionWhatLiesBeforeAMergeIsUnexplained) {
  Hand hand(1000, 1050);
  hand.Chunks(Phase::kReceive, 0, {{1000, 1010}});
  hand.Chunks(Phase::kMerge, kNoWorker, {{1020, 1050}});
  EXPECT_THAT(
      Describe(hand.Path()),
      ElementsAre("receive w0 c0 1000..1010", "unexplained c0 1010..1020", "merge c0 1020..1050"));
  hand.Chunks(Phase::kDecide, kNoWorker, {{1013, 1015}});
  EXPECT_THAT(Describe(hand.Path()), ElementsAre("receive w0 c0 1000..1010",
                                                 "hand_over c0 1010..1013", "decide c0 1013..1015",
                                                 "hand_over c0 1015..1020", "merge c0 1020..1050"));
}

TEST(RoundPath, ASendWaitsForTheWorkersCallAndTheNextRoundForTheRecordsOfTheOneBefore) {
  Hand hand(1000, 1100);
  hand.Clock(0, 0, 0);
  hand.Span(Phase::kLedger, kNoWorker, 1000, 1010);
  hand.Span(Phase::kStart, 0, 1012, 1014);
  hand.Span(Phase::kAwaitRound, 0, 990, 1016);
  hand.Span(Phase::kTrain, 0, 1017, 1020);
  hand.Chunks(Phase::kEncode, 0, {{1020, 1022}});
  hand.Span(Phase::kCall, 0, 1023, 1027);
  hand.Chunks(Phase::kUpload, 0, {{1027, 1030}});
  hand.Chunks(Phase::kReceive, 0, {{1029, 1031}});
  hand.Chunks(Phase::kDecide, kNoWorker, {{1031, 1032}});
  hand.Chunks(Phase::kMerge, kNoWorker, {{1032, 1034}});
  hand.Chunks(Phase::kDecide, kNoWorker, {{1034, 1035}});
  hand.Span(Phase::kAsk, 0, 1050, 1050);  // the call came when the chunk had long been there
  hand.Chunks(Phase::kSend, 0, {{1051, 1053}});
  hand.Chunks(Phase::kDownload, 0, {{1052, 1054}});
  hand.Span(Phase::kCall, 0, 1054, 1060);
  hand.Chunks(Phase::kApply, 0, {{1061, 1070}});
  hand.Span(Phase::kVerify, 0, 1070, 1080);
  hand.Span(Phase::kReport, 0, 1100, 1100);
  EXPECT_THAT(
      Describe(hand.Path(/*barrier=*/true)),
      ElementsAre("ledger 1000..1010", "hand_over w0 1010..1012", "start w0 1012..1016",
                  "hand_over w0 1016..1017", "train w0 1017..1020", "encode w0 c0 1020..1022",
                  "hand_over w0 1022..1023", "call w0 1023..1027", "upload w0 c0 1027..1030",
                  "ask w0 1030..1050", "hand_over w0 c0 1050..1051", "send w0 c0 1051..1053",
                  "link_down w0 c0 1053..1054", "call w0 1054..1060", "hand_over w0 c0 1060..1061",
                  "apply w0 c0 1061..1070", "verify w0 1070..1080", "report w0 1080..1100"));
}

TEST(RoundPath, OfARoundWithoutRecordsIsUnexplained) {
  EXPECT_THAT(Describe(Hand(1000, 1093).Path()), ElementsAre("unexplained 1000..1093"));
}

TEST(RoundPath, OfARoundThatEndsBeforeItBeginsHasNoPieces) {
  const RoundPath path = Hand(1093, 1000).Path();
  EXPECT_EQ(path.begin_ns, path.end_ns);
  EXPECT_THAT(path.pieces, testing::IsEmpty());
  EXPECT_EQ(path.notes.size(), 1u);
}

}  // namespace
}  // namespace interlude
