#include "report/chrome_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "report/run_trace.h"
#include "report/trace_test_run.h"

namespace interlude {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<Json> EventsOf(TraceClocks clocks = TraceClocks::kCorrected) {
  std::ostringstream out;
  WriteTrace(*ReadTraceRun(*MakeTraceTestRun()), clocks, *MakeChromeSink(out));
  const Json file = Json::parse(out.str());
  return file.at("traceEvents").get<std::vector<Json>>();
}

std::vector<Json> OfKind(const std::vector<Json>& events, const std::string& kind) {
  std::vector<Json> found;
  for (const Json& event : events) {
    if (event.at("ph") == kind) found.push_back(event);
  }
  return found;
}

TEST(ChromeTrace, HasInEveryEventWhatItsKindNeeds) {
  const std::map<std::string, std::set<std::string>> needed = {
      {"M", {"name", "args"}},         {"X", {"name", "ts", "dur", "args"}},
      {"i", {"name", "ts", "s"}},      {"C", {"name", "ts", "args"}},
      {"s", {"id", "cat", "ts"}},      {"t", {"id", "cat", "ts", "bp"}},
      {"f", {"id", "cat", "ts", "bp"}}};
  const auto events = EventsOf();
  std::set<std::string> kinds;
  for (const Json& event : events) {
    const std::string kind = event.at("ph");
    kinds.insert(kind);
    ASSERT_TRUE(needed.contains(kind)) << kind;
    for (const std::string& key : needed.at(kind)) EXPECT_TRUE(event.contains(key)) << event;
    EXPECT_TRUE(event.at("pid").is_number_integer());
    EXPECT_TRUE(event.at("tid").is_number_integer());
  }
  EXPECT_THAT(kinds, SizeIs(needed.size()));
}

TEST(ChromeTrace, NamesEveryTrackOfASliceByWhatIsAboveIt) {
  const auto events = EventsOf();
  std::map<int, std::string> names;
  for (const Json& event : OfKind(events, "M")) {
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
  }
  std::set<std::string> seen;
  for (const Json& slice : OfKind(events, "X")) {
    ASSERT_TRUE(names.contains(slice.at("tid")));
    seen.insert(names[slice.at("tid")]);
  }
  EXPECT_TRUE(seen.contains("worker 1: receive: receive by chunk"));
  EXPECT_TRUE(seen.contains("encode: encode by chunk"));
}

TEST(ChromeTrace, HasMicrosecondsOnTheCoordinatorsClock) {
  const auto clock = ReadTraceRun(*MakeTraceTestRun())->clocks.at(0);
  size_t seen = 0;
  for (const Json& slice : OfKind(EventsOf(), "X")) {
    if (slice.at("name") != "train" || slice.at("pid") != 2) continue;
    const uint32_t round = slice.at("args").at("round");
    const int64_t begin = 50'000 * kTraceMs + (round - 1) * kTraceRoundNs;
    EXPECT_DOUBLE_EQ(slice.at("ts").get<double>(),
                     static_cast<double>(begin + clock.ShiftIn(round)) / 1000);
    EXPECT_DOUBLE_EQ(slice.at("dur").get<double>(), 2e6);
    ++seen;
  }
  EXPECT_EQ(seen, kTraceRounds);
}

TEST(ChromeTrace, HasFlowsThatBeginOnceAndEndOnceInSlicesOfTheirTrack) {
  const auto events = EventsOf();
  const auto place = [](const Json& event) {
    return std::tuple(event.at("pid").get<int>(), event.at("tid").get<int>(),
                      event.at("ts").get<double>());
  };
  std::set<std::tuple<int, int, double>> slices;
  for (const Json& slice : OfKind(events, "X")) slices.insert(place(slice));
  std::map<uint64_t, std::string> flows;
  std::map<uint64_t, double> last;
  for (const Json& event : events) {
    const std::string kind = event.at("ph");
    if (!event.contains("id")) continue;
    const uint64_t flow = event.at("id");
    flows[flow] += kind;
    EXPECT_LE(last[flow], event.at("ts").get<double>());
    last[flow] = event.at("ts");
    EXPECT_TRUE(slices.contains(place(event)));
  }
  EXPECT_THAT(flows, SizeIs(2 * kTraceRounds * kTraceChunks));
  for (const auto& [flow, kinds] : flows) EXPECT_EQ(kinds, "stttttf");
}

}  // namespace
}  // namespace interlude
