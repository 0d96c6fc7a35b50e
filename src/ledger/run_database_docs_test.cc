// docs/run-database.md stays true: its queries give the output it shows, and it names every table,
// view and column. testdata/run_db stays readable: a later version of the schema adds a sample and
// keeps this one.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ledger/probe_bytes.h"
#include "ledger/run_database.h"
#include "ledger/sample_run.h"
#include "ledger/span_math.h"

namespace interlude {
namespace {

const char kRecorded[] = INTERLUDE_SOURCE_DIR "/testdata/run_db/run.db";

std::string DocsPage() {
  std::ifstream file(INTERLUDE_SOURCE_DIR "/docs/run-database.md");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The text between `begin` and `end` after `position`, which moves behind it; empty when there is
/// none.
std::string Between(const std::string& text, const std::string& begin, const std::string& end,
                    size_t& position) {
  const size_t from = text.find(begin, position);
  if (from == std::string::npos) return "";
  const size_t to = text.find(end, from + begin.size());
  if (to == std::string::npos) return "";
  position = to + end.size();
  return text.substr(from + begin.size(), to - from - begin.size());
}

/// As `sqlite3 -header -column` prints it, without spaces at the ends of lines.
std::string RunQuery(SQLite::Database& database, const std::string& sql) {
  SQLite::Statement statement(database, sql);
  std::vector<std::vector<std::string>> rows(2);
  for (int i = 0; i < statement.getColumnCount(); ++i)
    rows[0].push_back(statement.getColumnName(i));
  rows[1].resize(rows[0].size());
  while (statement.executeStep()) {
    rows.emplace_back();
    for (int i = 0; i < statement.getColumnCount(); ++i)
      rows.back().push_back(statement.getColumn(i).getString());
  }
  for (size_t i = 0; i < rows[0].size(); ++i) {
    size_t width = 0;
    for (const auto& row : rows) width = std::max(width, row[i].size());
    rows[1][i] = std::string(width, '-');
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += fmt::format("{:<{}}  ", row[i], rows[1][i].size());
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

TEST(RunDatabaseDocs, EachQueryGivesTheOutputThatThePageShows) {
  const std::string page = DocsPage();
  SQLite::Database database(kRecorded);
  size_t queries = 0;
  for (size_t position = 0;;) {
    const std::string sql = Between(page, "```sql\n", "```", position);
    if (sql.empty()) break;
    ++queries;
    EXPECT_EQ(RunQuery(database, sql), Between(page, "```text\n", "```", position)) << sql;
  }
  EXPECT_GE(queries, 6u);
}

TEST(RunDatabaseDocs, EveryTableViewAndColumnIsOnThePageAndNoOther) {
  const std::string page = DocsPage() + "\n### `";
  SQLite::Database database(kRecorded);
  std::map<std::string, std::vector<std::string>> schema;
  SQLite::Statement columns(
      database,
      "SELECT s.name, c.name, c.type FROM sqlite_schema s JOIN pragma_table_info(s.name) c "
      "WHERE s.type IN ('table', 'view')");
  while (columns.executeStep()) {
    schema[columns.getColumn(0).getString()].push_back(columns.getColumn(1).getString());
  }
  std::map<std::string, std::vector<std::string>> documented;
  for (size_t position = 0;;) {
    const std::string section = Between(page, "\n### `", "\n### `", position);
    if (section.empty()) break;
    position -= std::string("\n### `").size();  // the next section begins where this one ends
    std::vector<std::string>& names = documented[section.substr(0, section.find('`'))];
    for (size_t at = 0;;) {
      const std::string name = Between(section, "\n| `", "` |", at);
      if (name.empty()) break;
      names.push_back(name);
    }
  }
  EXPECT_EQ(documented, schema);
}

/// The bytes of the first example of a blob after `section`.
std::string ExampleBytes(const std::string& section) {
  const std::string docs = DocsPage();
  size_t position = docs.find(section);
  std::istringstream page(Between(docs, "```hex\n", "```", position));
  std::string bytes;
  for (std::string byte; page >> byte;)
    bytes.push_back(static_cast<char>(std::stoi(byte, nullptr, 16)));
  return bytes;
}

TEST(RunDatabaseDocs, TheExampleOfClockProbesIsWhatIsStored) {
  const std::string bytes = ExampleBytes("### `clock_probes`");
  const std::vector<ClockProbe> probes = {
      {0, 1'000'000'000, 1'000'006'000, 1'000'006'600, 1'000'010'000, 0},
      {0, 2'001'000'000, 2'001'005'900, 2'001'006'450, 2'001'011'000, 15}};
  EXPECT_EQ(EncodeProbes(probes), bytes);
  const auto decoded = DecodeProbes(0, bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, probes);
}

TEST(RunDatabaseDocs, TheExampleOfChunkStampsIsWhatIsStored) {
  const std::string bytes = ExampleBytes("### `chunk_stamps`");
  const std::vector<ChunkStamp> stamps = {
      {0, 1'000'000, 3'000'000}, {1, 2'000'000, 3'500'000}, {3, 3'600'000, 5'000'000}};
  EXPECT_EQ(EncodeStamps(stamps), bytes);
  const auto decoded = DecodeStamps(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, stamps);
}

/// All content of a database as text.
std::string Dump(SQLite::Database& database) {
  std::string text;
  SQLite::Statement tables(
      database, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name");
  while (tables.executeStep()) {
    const std::string table = tables.getColumn(0).getString();
    text += table + "\n" + RunQuery(database, "SELECT * FROM " + table);
  }
  return text;
}

TEST(RecordedRun, OfVersion1IsStillRead) {
  const auto database = RunDatabase::OpenReadOnly(INTERLUDE_SOURCE_DIR "/testdata/run_db/v1.db");
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  const auto spans = (*database)->Spans();
  ASSERT_TRUE(spans.ok()) << spans.status().ToString();
  EXPECT_TRUE(std::any_of(spans->begin(), spans->end(),
                          [](const Span& span) { return span.phase == Phase::kEncodeSync; }));
}

TEST(RecordedRun, OfVersion2IsStillRead) {
  const auto opened = RunDatabase::OpenReadOnly(INTERLUDE_SOURCE_DIR "/testdata/run_db/v2.db");
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  const RunDatabase& database = **opened;
  const auto spans = *database.Spans();
  EXPECT_EQ(spans.size(), 203u);
  EXPECT_TRUE(std::any_of(spans.begin(), spans.end(),
                          [](const Span& span) { return span.phase == Phase::kMerge; }));
  for (const Span& span : spans) EXPECT_EQ(span.blocked_ns, 0);
  const auto parts = *database.WorkerRounds();
  EXPECT_EQ(parts.size(), size_t{kSampleRounds} * kSampleWorkers);
  for (const WorkerRoundRecord& part : parts) {
    EXPECT_EQ(part.scaled_chunks, 0u);
    EXPECT_EQ(part.cut_share, 0);
  }
  EXPECT_EQ(database.Rounds()->size(), kSampleRounds);
}

/// Samples with what version 4 cuts off cut off.
std::vector<ProcessSample> InWholeUnits(std::vector<ProcessSample> samples) {
  for (ProcessSample& sample : samples) {
    sample.at_ns = sample.at_ns / 1000 * 1000;
    for (const SampleField& field : kSampleFields) {
      int64_t& value = sample.*field.value;
      if (value == kUnknownFigure) continue;
      if (field.name.ends_with("_ns")) value = value / 1000 * 1000;
    }
    for (int64_t* memory : {&sample.rss_bytes, &sample.anonymous_bytes, &sample.peak_rss_bytes}) {
      if (*memory != kUnknownFigure) *memory = *memory / 1024 * 1024;
    }
  }
  return samples;
}

TEST(RecordedRun, OfVersion3SaysWhatTheNewestSays) {
  const auto old = RunDatabase::OpenReadOnly(INTERLUDE_SOURCE_DIR "/testdata/run_db/v3.db");
  ASSERT_TRUE(old.ok()) << old.status().ToString();
  const auto recorded = RunDatabase::OpenReadOnly(kRecorded);
  ASSERT_TRUE(recorded.ok()) << recorded.status().ToString();
  EXPECT_EQ(*(*old)->Spans(), *(*recorded)->Spans());
  EXPECT_EQ(*(*old)->Stamps(), *(*recorded)->Stamps());
  EXPECT_GT((*old)->Samples()->size(), 10u);
  EXPECT_EQ(InWholeUnits(*(*old)->Samples()), *(*recorded)->Samples());
  EXPECT_EQ(*(*old)->Memory(), *(*recorded)->Memory());
  EXPECT_GT((*old)->Probes()->size(), 10u);
  EXPECT_EQ(*(*old)->Probes(), *(*recorded)->Probes());
  EXPECT_EQ(*(*old)->Clocks(), *(*recorded)->Clocks());
  RunMark old_mark, mark;
  EXPECT_EQ((*old)->News(old_mark)->samples.size(), (*recorded)->News(mark)->samples.size());
  EXPECT_EQ(old_mark.sample, mark.sample);
}

TEST(RecordedRun, OfAnOlderVersionHasNothingOfWhatCameLater) {
  for (const char* name : {"v1.db", "v2.db"}) {
    const auto database =
        RunDatabase::OpenReadOnly(std::string(INTERLUDE_SOURCE_DIR "/testdata/run_db/") + name);
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    EXPECT_TRUE((*database)->Stamps()->empty());
    EXPECT_TRUE((*database)->Samples()->empty());
    EXPECT_TRUE((*database)->Memory()->empty());
    EXPECT_TRUE((*database)->Probes()->empty());
    EXPECT_TRUE((*database)->Clocks()->empty());
  }
}

TEST(RecordedRun, OfAnOlderVersionIsNotGoneOnWith) {
  const std::string copy = ::testing::TempDir() + fmt::format("/older_{}.db", ::getpid());
  for (const char* name : {"v1.db", "v2.db", "v3.db"}) {
    std::filesystem::copy_file(std::string(INTERLUDE_SOURCE_DIR "/testdata/run_db/") + name, copy,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(RunDatabase::Reopen(copy).status().code(), StatusCode::kFailedPrecondition);
  }
  ::unlink(copy.c_str());
}

TEST(RecordedRun, IsWhatTheSampleRunWrites) {
  ASSERT_TRUE(RunDatabase::OpenReadOnly(kRecorded).ok());
  const std::string fresh_path = ::testing::TempDir() + fmt::format("/sample_{}.db", ::getpid());
  {
    auto fresh = RunDatabase::Create(fresh_path);
    ASSERT_TRUE(fresh.ok()) << fresh.status().ToString();
    ASSERT_TRUE(WriteSampleRun(**fresh).ok());
  }
  SQLite::Database recorded(kRecorded);
  std::string fresh_text;
  {
    SQLite::Database fresh(fresh_path);
    fresh_text = Dump(fresh);
  }
  ::unlink(fresh_path.c_str());
  EXPECT_EQ(Dump(recorded), fresh_text);
}

Span SpanOf(Phase phase, uint32_t round, int32_t worker, int64_t begin, int64_t end,
            bool ok = true) {
  return {phase, round, worker, kNoWorker, begin, end, 0, 0, 0, 0, 0, ok};
}

/// A round each: two workers; one that failed beside one that did not; no verify; a second attempt;
/// a span that ends before it begins; no training.
std::vector<std::vector<Span>> RoundsOfAllKinds() {
  return {
      {SpanOf(Phase::kTrain, 1, 0, 0, 100), SpanOf(Phase::kVerify, 1, 0, 105, 190),
       SpanOf(Phase::kEvaluate, 1, 0, 190, 500), SpanOf(Phase::kTrain, 1, 1, 7000, 7150),
       SpanOf(Phase::kVerify, 1, 1, 7152, 7160), SpanOf(Phase::kUpload, 1, 1, 7151, 7170)},
      {SpanOf(Phase::kTrain, 2, 0, 0, 100), SpanOf(Phase::kVerify, 2, 0, 105, 190),
       SpanOf(Phase::kTrain, 2, 1, 0, 100), SpanOf(Phase::kUpload, 2, 1, 100, 105, false),
       SpanOf(Phase::kVerify, 2, 1, 100, 105)},
      {SpanOf(Phase::kTrain, 3, 0, 0, 100), SpanOf(Phase::kEncode, 3, 0, 100, 105)},
      {SpanOf(Phase::kTrain, 4, 0, 0, 100), SpanOf(Phase::kUpload, 4, 0, 100, 150, false),
       SpanOf(Phase::kTrain, 4, 0, 200, 300), SpanOf(Phase::kVerify, 4, 0, 300, 303)},
      {SpanOf(Phase::kTrain, 5, 0, 0, 100), SpanOf(Phase::kTrain, 5, 0, 900, 800),
       SpanOf(Phase::kVerify, 5, 0, 100, 111), SpanOf(Phase::kApply, 5, 0, 990, 980)},
      {SpanOf(Phase::kVerify, 6, 0, 100, 111)},
  };
}

TEST(RecordedRun, ItsViewComputesTheExchangeAsSpanMathDoes) {
  const std::string path = ::testing::TempDir() + fmt::format("/exchange_{}.db", ::getpid());
  const std::vector<std::vector<Span>> rounds = RoundsOfAllKinds();
  {
    auto database = *RunDatabase::Create(path);
    for (uint32_t i = 1; i <= rounds.size(); ++i)
      ASSERT_TRUE(database->AddRound({.round = i}, {}, {.spans = rounds[i - 1]}).ok());
  }
  {
    SQLite::Database database(path);
    SQLite::Statement view(database, "SELECT exchange_s FROM round_summary ORDER BY round");
    for (const std::vector<Span>& spans : rounds) {
      ASSERT_TRUE(view.executeStep());
      const std::map<int32_t, double> seconds = ExchangeSecondsByWorker(spans);
      ASSERT_EQ(view.getColumn(0).isNull(), seconds.empty());
      if (seconds.empty()) continue;
      const auto shortest = std::min_element(seconds.begin(), seconds.end(),
                                             [](auto a, auto b) { return a.second < b.second; });
      EXPECT_DOUBLE_EQ(view.getColumn(0).getDouble(), shortest->second);
    }
  }
  ::unlink(path.c_str());
}

TEST(RecordedRun, ItsViewsSurviveTheLargestValues) {
  const std::string path = ::testing::TempDir() + fmt::format("/extreme_{}.db", ::getpid());
  {
    auto database = *RunDatabase::Create(path);
    constexpr uint64_t kHuge = ~uint64_t{0};
    constexpr int64_t kMost = static_cast<int64_t>(kHuge >> 1);
    const Span span{Phase::kTrain, 1, 0, kNoWorker, -kMost, kMost, kMost, kMost, kMost, kHuge, 1};
    const Span verify{Phase::kVerify, 1, 1, kNoWorker, -kMost, kMost};
    const Span train{Phase::kTrain, 1, 1, kNoWorker, -kMost, -kMost};
    ASSERT_TRUE(database
                    ->AddRound({.round = 1},
                               {{1, 0, kHuge, 1, "x", 1, kHuge, kHuge},
                                {1, 1, kHuge, 1, "x", 1, kHuge, kHuge}},
                               {.spans = {span, span, train, verify}})
                    .ok());
  }
  {
    SQLite::Database database(path);
    EXPECT_EQ(database.execAndGet("SELECT upload_bytes FROM round_summary").getInt64(), INT64_MAX);
    EXPECT_EQ(database.execAndGet("SELECT bytes FROM phase_seconds").getInt64(), INT64_MAX);
    EXPECT_GT(database.execAndGet("SELECT exchange_s FROM round_summary").getDouble(), 1e10);
  }
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace interlude
