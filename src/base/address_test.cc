#include "base/address.h"

#include <gtest/gtest.h>

namespace interlude {
namespace {

TEST(AddressTest, OnlyThisMachineReachesALoopbackAddress) {
  for (const char* address : {"127.0.0.1:0", "127.255.3.4:7070", "localhost:1", "[::1]:7070",
                              "[0:0:0:0:0:0:0:1]:7070", "unix:/tmp/socket"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
}

TEST(AddressTest, WhateverElseItIsOthersMayReachIt) {
  for (const char* address :
       {"0.0.0.0:7070", "[::]:7070", "10.0.0.5:7070", "128.0.0.1:1", "127.0.0.1.example.org:1",
        "127.evil:1", "localhost.example.org:1", "box:7070", "dns:localhost:1", "ipv4:127.0.0.1:1",
        "[::ffff:10.0.0.1]:1", "[::2]:1", "[localhost]:1", "127.1:1", "", ":7070", "[]:1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

TEST(AddressTest, AHostStandsAloneOrBeforeAPort) {
  EXPECT_EQ(HostOf("localhost:7080"), "localhost");
  EXPECT_EQ(HostOf("localhost"), "localhost");
  EXPECT_EQ(HostOf("[::1]:7080"), "[::1]");
  EXPECT_EQ(HostOf("[::1]"), "[::1]");
  EXPECT_EQ(HostOf(""), "");
}

TEST(AddressTest, AHostThatOnlyBeginsOrEndsLikeThisMachineIsNot) {
  for (const char* host : {"localhost", "127.0.0.1", "[::1]"}) EXPECT_TRUE(IsLoopbackHost(host));
  for (const char* host :
       {"", "unix", "unix:/tmp/x", "::1", "localhost.", "localhost.evil", "evil.localhost",
        "127.0.0.1.evil", "127.0.0.1, evil", "localhost,evil", "evil@localhost"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

TEST(AddressTest, ThePortIsBehindTheLastColon) {
  EXPECT_EQ(PortOf("127.0.0.1:50051"), 50051);
  EXPECT_EQ(PortOf("[::1]:7"), 7);
  EXPECT_EQ(PortOf("host"), std::nullopt);
  EXPECT_EQ(PortOf("host:"), std::nullopt);
  EXPECT_EQ(PortOf("host:70000"), std::nullopt);
  EXPECT_EQ(PortOf("host:12x"), std::nullopt);
  EXPECT_EQ(PortOf("unix:/run/a:1"), std::nullopt);
}

}  // namespace
}  // namespace interlude
