#include "base/memory_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using ::testing::ElementsAre;
constexpr size_t kStack = 0x800000;

TEST(MemoryMap, EachPartIsToldByWhatItIsFor) {
  constexpr char kMaps[] =
      "00400000-00401000 r--p 00000000 fe:00 100                        /opt/a program\n"
      "00401000-00402000 r-xp 00001000 fe:00 100                        /opt/a program\n"
      "00402000-00403000 rw-p 00002000 fe:00 100                        /opt/a program\n"
      "00403000-00404000 rw-p 00000000 00:00 0 \n"
      "01000000-01100000 rw-p 00000000 00:00 0                          [heap]\n"
      "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
      "7f0000021000-7f0004000000 ---p 00000000 00:00 0 \n"
      "7f0004000000-7f0004001000 rw-p 00000000 00:00 0 \n"
      "7f1000000000-7f1000001000 ---p 00000000 00:00 0 \n"
      "7f1000001000-7f1000801000 rw-p 00000000 00:00 0 \n"
      "7f2000000000-7f2000100000 rw-s 00000000 fe:00 101                /run/ring-0.journal\n"
      "7f3000000000-7f3000001000 r--p 00000000 fe:00 102                /usr/lib/locale.dat\n"
      "7f3000001000-7f3000002000 rw-p 00000000 00:00 0 \n"
      "7f4000000000-7f4000001000 rw-p 00000000 00:00 0          [anon:a label]\n"
      "7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0                  [stack]\n"
      "7ffe00030000-7ffe00032000 r-xp 00000000 00:00 0                  [vdso]\n";
  using K = MappingKind;
  EXPECT_THAT(ParseMemoryMap(kMaps, kStack),
              ElementsAre(MemoryMapping{0x400000, 0x401000, K::kProgram},
                          MemoryMapping{0x401000, 0x402000, K::kProgram},
                          MemoryMapping{0x402000, 0x403000, K::kProgram},
                          MemoryMapping{0x403000, 0x404000, K::kProgram},
                          MemoryMapping{0x1000000, 0x1100000, K::kHeap},
                          MemoryMapping{0x7f0000000000, 0x7f0000021000, K::kAnonymous},
                          MemoryMapping{0x7f0000021000, 0x7f0004000000, K::kReserved},
                          MemoryMapping{0x7f0004000000, 0x7f0004001000, K::kAnonymous},
                          MemoryMapping{0x7f1000000000, 0x7f1000001000, K::kReserved},
                          MemoryMapping{0x7f1000001000, 0x7f1000801000, K::kThreadStack},
                          MemoryMapping{0x7f2000000000, 0x7f2000100000, K::kFile},
                          MemoryMapping{0x7f3000000000, 0x7f3000001000, K::kFile},
                          MemoryMapping{0x7f3000001000, 0x7f3000002000, K::kAnonymous},
                          MemoryMapping{0x7f4000000000, 0x7f4000001000, K::kAnonymous},
                          MemoryMapping{0x7ffe00000000, 0x7ffe00021000, K::kThreadStack},
                          MemoryMapping{0x7ffe00030000, 0x7ffe00032000, K::kProgram}));
}

TEST(MemoryMap, WhatTheKernelJoinedToAStackIsNotStack) {
  constexpr char kMaps[] =
      "7f1000000000-7f1000001000 ---p 00000000 00:00 0 \n"
      "7f1000001000-7f1000a01000 rw-p 00000000 00:00 0 \n";
  EXPECT_THAT(ParseMemoryMap(kMaps, kStack),
              ElementsAre(MemoryMapping{0x7f1000000000, 0x7f1000001000, MappingKind::kReserved},
                          MemoryMapping{0x7f1000001000, 0x7f1000801000, MappingKind::kThreadStack},
                          MemoryMapping{0x7f1000801000, 0x7f1000a01000, MappingKind::kAnonymous}));
}

TEST(MemoryMap, MuchMemoryBehindALibraryIsNotItsVariables) {
  constexpr char kMaps[] =
      "00401000-00402000 r-xp 00001000 fe:00 100    /lib/a.so\n"
      "00402000-00403000 rw-p 00002000 fe:00 100    /lib/a.so\n"
      "00403000-10000000 rw-p 00000000 00:00 0 \n";
  EXPECT_EQ(ParseMemoryMap(kMaps, kStack).back().kind, MappingKind::kAnonymous);
}

TEST(MemoryMap, DamagedLinesAreLeftOut) {
  EXPECT_TRUE(ParseMemoryMap("", kStack).empty());
  EXPECT_TRUE(
      ParseMemoryMap("nonsense\n12345\n1000-\n2000-1000 rw-p 0 00:00 0\n1000-2000 rw-p\n", kStack)
          .empty());
}

}  // namespace
}  // namespace interlude
