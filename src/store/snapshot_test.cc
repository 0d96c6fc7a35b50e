#include "store/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/rng.h"
#include "store/snapshot_format.h"
#include "store/temporary_directory.h"

namespace interlude {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A snapshot in memory.
struct Sample {
  SnapshotHeader header;
  std::vector<uint32_t> rounds;
  std::vector<std::vector<float>> base, state, residual;  // by chunk
};

/// The sample file: 70 parameters in chunks of 64 and 6.
Sample SmallSample() {
  Sample sample;
  sample.header = {
      .run_id = "run-1",
      .software = "interlude 0.1",
      .config = "[model]\nname = \"tiny\"\n",
      .layout =
          Layout::Create({{.name = "weight", .shape = {4, 16}}, {.name = "bias", .shape = {6}}}, 64)
              .value(),
      .state_per_param = 1,
      .has_residual = true,
      .round = 12};
  sample.rounds = {12, 13};
  std::vector<float> first(64), state(64);
  for (size_t i = 0; i < 64; ++i) {
    first[i] = static_cast<float>(i) * 0.5f;
    state[i] = -static_cast<float>(i);
  }
  sample.base = {first, {1, 2, 3, 4, 5, 6}};
  sample.state = {state, std::vector<float>(6, 0.0f)};
  sample.residual = {std::vector<float>(64, 0.0f), {0, 0, -0.0f, 0, 0, 0}};
  return sample;
}

Status Write(const std::string& path, const Sample& sample) {
  INTERLUDE_ASSIGN_OR_RETURN(SnapshotWriter writer, SnapshotWriter::Create(path, sample.header));
  for (uint32_t c = 0; c < sample.base.size(); ++c) {
    INTERLUDE_RETURN_IF_ERROR(writer.Append({.chunk = c,
                                             .round = sample.rounds[c],
                                             .base_hash = HashFloats(sample.base[c]),
                                             .base = sample.base[c],
                                             .state = sample.state[c],
                                             .residual = sample.residual[c]}));
  }
  return writer.Commit();
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

/// Buffers full of what is not in any sample.
struct Buffers {
  Buffers(const Sample& sample, uint32_t chunk)
      : base(sample.base[chunk].size(), 7e7f),
        state(sample.state[chunk].size(), 7e7f),
        residual(sample.residual[chunk].size(), 7e7f) {}
  std::vector<float> base, state, residual;
};

void ExpectReads(const std::string& path, const Sample& sample) {
  const auto reader = SnapshotReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  const SnapshotHeader& header = reader->header();
  EXPECT_EQ(header.run_id, sample.header.run_id);
  EXPECT_EQ(header.software, sample.header.software);
  EXPECT_EQ(header.config, sample.header.config);
  EXPECT_EQ(header.layout.parameters(), sample.header.layout.parameters());
  EXPECT_EQ(header.layout.signature(), sample.header.layout.signature());
  EXPECT_EQ(header.state_per_param, sample.header.state_per_param);
  EXPECT_EQ(header.has_residual, sample.header.has_residual);
  EXPECT_EQ(header.round, sample.header.round);
  // Chunks can be read in any order.
  for (uint32_t c = header.layout.num_chunks(); c-- > 0;) {
    Buffers read(sample, c);
    ASSERT_TRUE(reader->ReadChunk(c, read.base, read.state, read.residual).ok());
    EXPECT_TRUE(SameBits(read.base, sample.base[c]));
    EXPECT_TRUE(SameBits(read.state, sample.state[c]));
    EXPECT_TRUE(SameBits(read.residual, sample.residual[c]));
    EXPECT_EQ(reader->ChunkRound(c), sample.rounds[c]);
    EXPECT_EQ(reader->BaseHash(c), HashFloats(sample.base[c]));
  }
}

class Snapshot : public testing::Test {
 protected:
  std::string Written(const Sample& sample) {
    INTERLUDE_CHECK(Write(path_, sample).ok(), "writing the sample");
    return ReadWholeFile(path_);
  }
  StatusOr<SnapshotReader> Open(std::string_view bytes) {
    WriteWholeFile(path_, bytes);
    return SnapshotReader::Open(path_);
  }
  void ExpectRefused(const std::string& bytes, const std::string& text) {
    const auto reader = Open(bytes);
    EXPECT_EQ(reader.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(reader.status().message(), HasSubstr(text));
    EXPECT_THAT(reader.status().message(), HasSubstr(path_));
  }

  TemporaryDirectory directory_;
  std::string path_ = SnapshotPath(directory_.path(), 12);
};

/// Makes the hash in the last 16 of `size` bytes at `at` fit again.
void MendCheck(std::string& bytes, size_t at, size_t size) {
  const Hash128 hash = HashBytes(std::as_bytes(std::span(bytes)).subspan(at, size - 16));
  std::memcpy(bytes.data() + at + size - 16, &hash.high, 8);
  std::memcpy(bytes.data() + at + size - 8, &hash.low, 8);
}

template <typename T>
std::string WithNumber(std::string bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return bytes;
}

TEST_F(Snapshot, WhatIsWrittenIsReadBack) {
  const Sample sample = SmallSample();
  ASSERT_TRUE(Write(path_, sample).ok());
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));
  ExpectReads(path_, sample);
}

TEST_F(Snapshot, RandomOnesAreReadBackWithTheirBits) {
  Rng rng(4);
  for (int repeat = 0; repeat < 60; ++repeat) {
    Sample sample;
    std::vector<ParameterSpec> parameters;
    for (uint64_t i = 0; i <= rng.Below(4); ++i) {
      const auto rows = static_cast<int64_t>(1 + rng.Below(9));
      const auto columns = static_cast<int64_t>(1 + rng.Below(30));
      parameters.push_back({.name = fmt::format("p{}", i), .shape = {rows, columns}});
    }
    sample.header = {.run_id = std::string(rng.Below(9), 'r'),
                     .software = "",
                     .config = std::string(rng.Below(2000), '\0'),
                     .layout = Layout::Create(parameters, 64 * (1 + rng.Below(3))).value(),
                     .state_per_param = static_cast<uint32_t>(rng.Below(3)),
                     .has_residual = rng.Below(2) == 0,
                     .round = static_cast<uint32_t>(rng())};
    const auto values = [&](size_t n) {
      std::vector<float> result(n, 0.0f);
      if (rng.Below(3) == 0) return result;
      for (float& value : result) {
        const auto bits = static_cast<uint32_t>(rng());  // NaN and infinity among them
        std::memcpy(&value, &bits, sizeof(value));
      }
      return result;
    };
    for (uint32_t c = 0; c < sample.header.layout.num_chunks(); ++c) {
      const size_t n = sample.header.layout.chunk(c).count;
      sample.rounds.push_back(static_cast<uint32_t>(rng()));
      sample.base.push_back(values(n));
      sample.state.push_back(values(n * sample.header.state_per_param));
      sample.residual.push_back(values(sample.header.has_residual ? n : 0));
    }
    ASSERT_TRUE(Write(path_, sample).ok());
    ExpectReads(path_, sample);
  }
}

TEST_F(Snapshot, PartsThatAreAllZeroTakeNoRoom) {
  Sample sample = SmallSample();
  const size_t with_values = Written(sample).size();
  sample.state[0] = std::vector<float>(64, 0.0f);
  EXPECT_EQ(Written(sample).size(), with_values - 64 * sizeof(float));
  ExpectReads(path_, sample);
  sample.residual[0][63] = -0.0f;  // not all of its bytes are zero
  EXPECT_EQ(Written(sample).size(), with_values);
  ExpectReads(path_, sample);
}

TEST_F(Snapshot, ABaseThatIsNotTheOneStatedIsNotWritten) {
  const Sample sample = SmallSample();
  auto writer = SnapshotWriter::Create(path_, sample.header);
  ASSERT_TRUE(writer.ok());
  const Status status = writer->Append({.chunk = 0,
                                        .round = 12,
                                        .base_hash = HashFloats(sample.base[1]),
                                        .base = sample.base[0],
                                        .state = sample.state[0],
                                        .residual = sample.residual[0]});
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("chunk 0 after round 12: its base has hash"));
}

TEST_F(Snapshot, WithoutCommitNothingIsLeft) {
  { EXPECT_TRUE(SnapshotWriter::Create(path_, SmallSample().header).ok()); }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(Snapshot, ADiskThatIsFullIsSaidAndTheOldSnapshotStays) {
  const std::string before = Written(SmallSample());
  std::filesystem::create_symlink("/dev/full", path_ + ".partial");
  EXPECT_EQ(Write(path_, SmallSample()).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(ReadWholeFile(path_) == before);
}

TEST_F(Snapshot, HeadersBeyondTheBoundsAreRefused) {
  const auto code = [&](const SnapshotHeader& header) {
    return SnapshotWriter::Create(path_, header).status().code();
  };
  SnapshotHeader header = SmallSample().header;
  header.run_id.resize(kMaxSnapshotNameBytes + 1);
  EXPECT_EQ(code(header), StatusCode::kInvalidArgument);
  header = SmallSample().header;
  header.config.resize(kMaxSnapshotConfigBytes + 1);
  EXPECT_EQ(code(header), StatusCode::kInvalidArgument);
  header = SmallSample().header;
  header.state_per_param = kMaxSnapshotStatePerParam + 1;
  EXPECT_EQ(code(header), StatusCode::kInvalidArgument);
  header = SmallSample().header;
  header.layout = Layout();
  EXPECT_EQ(code(header), StatusCode::kInvalidArgument);
}

TEST_F(Snapshot, EveryTruncationIsDataLoss) {
  const std::string whole = Written(SmallSample());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(Open(std::string_view(whole).substr(0, size)).status().code(), StatusCode::kDataLoss)
        << size;
  }
  EXPECT_EQ(Open(whole + "x").status().code(), StatusCode::kDataLoss);
}

TEST_F(Snapshot, EveryFlippedByteIsDataLoss) {
  const Sample sample = SmallSample();
  const std::string whole = Written(sample);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ flip);
      const auto reader = Open(damaged);
      if (!reader.ok()) {
        EXPECT_EQ(reader.status().code(), StatusCode::kDataLoss) << i;
        continue;
      }
      // Then one chunk says it, and the other is read as it was.
      int damaged_chunks = 0;
      for (uint32_t c = 0; c < 2; ++c) {
        Buffers read(sample, c);
        const Status status = reader->ReadChunk(c, read.base, read.state, read.residual);
        if (status.ok()) {
          EXPECT_TRUE(SameBits(read.base, sample.base[c])) << i;
          EXPECT_TRUE(SameBits(read.state, sample.state[c])) << i;
          EXPECT_TRUE(SameBits(read.residual, sample.residual[c])) << i;
        } else {
          EXPECT_EQ(status.code(), StatusCode::kDataLoss) << i;
          ++damaged_chunks;
        }
      }
      EXPECT_EQ(damaged_chunks, 1) << i;
    }
  }
}

TEST_F(Snapshot, ADamagedPartIsNamed) {
  const Sample sample = SmallSample();
  std::string bytes = Written(sample);
  bytes[bytes.size() - kSnapshotEndBytes - 1] ^= 1;  // the last value of chunk 1's residual
  const auto reader = Open(bytes);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  Buffers read(sample, 1);
  EXPECT_THAT(reader->ReadChunk(1, read.base, read.state, read.residual).message(),
              HasSubstr("the residual of chunk 1 is damaged"));
}

// With hashes that fit: what a faulty writer, or a hostile one, could leave.

TEST_F(Snapshot, AnotherVersionIsNamed) {
  std::string bytes = WithNumber(Written(SmallSample()), 8, uint32_t{9});
  MendCheck(bytes, 0, kSnapshotPreambleBytes);
  const auto reader = Open(bytes);
  EXPECT_EQ(reader.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(reader.status().message(), HasSubstr("version 9, this program reads version 1"));
}

TEST_F(Snapshot, SizesThatTheFileCannotHoldAreRefusedBeforeMemoryIsTaken) {
  const std::string whole = Written(SmallSample());
  const auto with = [&](size_t at, auto value) {
    std::string bytes = WithNumber(whole, at, value);
    MendCheck(bytes, 0, kSnapshotPreambleBytes);
    return bytes;
  };
  ExpectRefused(with(16, uint32_t{17}), "claims 17 state values");
  ExpectRefused(with(32, kMaxSnapshotDescriptionBytes + 1), "a description of 134217729 bytes");
  ExpectRefused(with(32, kMaxSnapshotDescriptionBytes), "its description would end at 134217824");
  ExpectRefused(with(32, std::numeric_limits<uint64_t>::max()), "a description of 184467440737");
  ExpectRefused(with(24, uint64_t{65}), "layout is impossible");
  ExpectRefused(with(24, uint64_t{128}), "another signature");
}

TEST_F(Snapshot, ALayoutOfMoreChunksThanTheFileHoldsIsRefused) {
  const Layout layout = Layout::Create({{.name = "w", .shape = {64 << 20}}}, 64).value();
  const SnapshotHeader header{.layout = layout};
  const auto description = EncodeSnapshotDescription(header);
  const auto preamble = EncodeSnapshotPreamble({.chunk_params = 64,
                                                .description_bytes = description.size(),
                                                .description_hash = HashBytes(description),
                                                .signature = layout.signature()});
  std::string bytes(reinterpret_cast<const char*>(preamble.data()), preamble.size());
  bytes.append(reinterpret_cast<const char*>(description.data()), description.size());
  ExpectRefused(bytes, "too few for 1048576 chunks");
}

TEST_F(Snapshot, DescriptionsThatDoNotEndWithTheirCountsAreRefused) {
  const Sample sample = SmallSample();
  const auto whole = EncodeSnapshotDescription(sample.header);
  const auto decode = [&](const std::vector<std::byte>& bytes) {
    return DecodeSnapshotDescription({.chunk_params = 64,
                                      .description_bytes = bytes.size(),
                                      .description_hash = HashBytes(bytes),
                                      .signature = sample.header.layout.signature()},
                                     bytes);
  };
  ASSERT_TRUE(decode(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(decode({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}).status().code(),
              StatusCode::kDataLoss);
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] ^= std::byte{0xff};
    const auto header = decode(damaged);
    // A text may be another one; the signature keeps the layout.
    if (header.ok()) {
      EXPECT_EQ(header->layout.parameters(), sample.header.layout.parameters());
    } else {
      EXPECT_EQ(header.status().code(), StatusCode::kDataLoss);
    }
  }
}

TEST_F(Snapshot, TheHeadOfAnotherChunkOrFileIsRefused) {
  const Sample sample = SmallSample();
  const std::string whole = Written(sample);
  const size_t head = kSnapshotPreambleBytes + EncodeSnapshotDescription(sample.header).size();
  std::string other_round = WithNumber(whole, head + 8, uint32_t{11});
  ExpectRefused(other_round, "the head of chunk 0 is damaged");
  MendCheck(other_round, head, kSnapshotHeadBytes);
  ExpectRefused(other_round, "the snapshot's end is damaged");
  std::string other_chunk = WithNumber(whole, head + 4, uint32_t{1});
  MendCheck(other_chunk, head, kSnapshotHeadBytes);
  ExpectRefused(other_chunk, "the head of chunk 0 is damaged or not there");
}

TEST_F(Snapshot, TheWriterStillMakesTheSampleFileOfVersion1) {
  // The sample was put together in Python from the format's description.
  EXPECT_TRUE(Written(SmallSample()) == ReadWholeFile(INTERLUDE_TESTDATA "/snapshot/v1.snapshot"));
}

TEST_F(Snapshot, TheSampleOfVersion1IsRead) {
  ExpectReads(INTERLUDE_TESTDATA "/snapshot/v1.snapshot", SmallSample());
}

TEST_F(Snapshot, AbsentFilesAndDirectoriesAreNamed) {
  EXPECT_EQ(SnapshotReader::Open(path_).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(SnapshotReader::Open(path_).status().message(), HasSubstr(path_));
  EXPECT_EQ(SnapshotReader::Open(directory_.path()).status().code(), StatusCode::kInvalidArgument);
}

using SnapshotDeathTest = Snapshot;

TEST_F(SnapshotDeathTest, ChunksOutOfOrderOrOfAnotherSizeAbort) {
  const Sample sample = SmallSample();
  auto writer = SnapshotWriter::Create(path_, sample.header);
  ASSERT_TRUE(writer.ok());
  EXPECT_DEATH((void)writer->Append({.chunk = 1}), "chunk 0 is next in the snapshot, not 1");
  EXPECT_DEATH((void)writer->Append({.chunk = 0, .base = sample.base[1]}), "chunk 0 of 64");
  EXPECT_DEATH((void)writer->Commit(), "the snapshot has 0 of 2 chunks");
}

class SnapshotDirectory : public testing::Test {
 protected:
  void Touch(const std::string& name) { WriteWholeFile(directory_.File(name), "x"); }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  TemporaryDirectory directory_;
};

TEST_F(SnapshotDirectory, SnapshotsAreListedByRoundTheNewestFirst) {
  for (const uint32_t round : {7u, 100'000'000u, 4'294'967'295u, 12u, 0u})
    WriteWholeFile(SnapshotPath(directory_.path(), round), "x");
  for (const char* name :
       {"snapshot-9.snapshot", "snapshot-000000013.snapshot", "snapshot-00000014.snapshot.partial",
        "snapshot-4294967296.snapshot", "snapshot-.snapshot", "snapshot-00000x15.snapshot",
        "model.safetensors", "snapshot-0000001.snapshot"})
    Touch(name);
  EXPECT_THAT(NewestSnapshots(directory_.path()).value(),
              ElementsAre(directory_.File("snapshot-4294967295.snapshot"),
                          directory_.File("snapshot-100000000.snapshot"),
                          directory_.File("snapshot-00000012.snapshot"),
                          directory_.File("snapshot-00000007.snapshot"),
                          directory_.File("snapshot-00000000.snapshot")));
}

TEST_F(SnapshotDirectory, PruningKeepsTheNewestAndRemovesWhatCrashesLeft) {
  for (const char* name :
       {"snapshot-00000001.snapshot", "snapshot-00000002.snapshot", "snapshot-00000003.snapshot",
        "snapshot-00000004.snapshot.partial", "other.partial", "notes.txt"})
    Touch(name);
  ASSERT_TRUE(PruneSnapshots(directory_.path(), 2).ok());
  EXPECT_THAT(Names(), ElementsAre("notes.txt", "other.partial", "snapshot-00000002.snapshot",
                                   "snapshot-00000003.snapshot"));
  ASSERT_TRUE(PruneSnapshots(directory_.path(), 5).ok());
  ASSERT_TRUE(PruneSnapshots(directory_.path(), 0).ok());
  EXPECT_THAT(Names(), ElementsAre("notes.txt", "other.partial"));
}

TEST_F(SnapshotDirectory, AMissingDirectoryHasNoSnapshots) {
  EXPECT_THAT(NewestSnapshots(directory_.File("absent")).value(), IsEmpty());
  EXPECT_TRUE(PruneSnapshots(directory_.File("absent"), 1).ok());
  Touch("file");
  EXPECT_FALSE(NewestSnapshots(directory_.File("file")).ok());
}

}  // namespace
}  // namespace interlude
