// What gRPC says about a connection that could not be made, in words for people. The texts are
// those of gRPC 1.51 with OpenSSL 3; tests/tls_test.cc has them from real connections.
#include "wire/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace interlude {
namespace {

using testing::HasSubstr;

constexpr char kBefore[] =
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:1.2.3.4:5: ";

ConnectionTrouble Explain(const std::string& message, bool with_keys = true) {
  return ExplainTrouble(with_keys, kBefore + message);
}

TEST(CredentialsTest, WhatOnlyAPersonCanMendIsToldAsLasting) {
  const ConnectionTrouble other_ca = Explain(
      "Ssl handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify "
      "failed");
  EXPECT_TRUE(other_ca.lasting);
  EXPECT_THAT(other_ca.words, HasSubstr("ca.crt"));
  const ConnectionTrouble other_name = Explain("Peer name 127.0.0.5 is not in peer certificate");
  EXPECT_TRUE(other_name.lasting);
  EXPECT_THAT(other_name.words, HasSubstr("--name"));
  const ConnectionTrouble plain = Explain(
      "Ssl handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number");
  EXPECT_TRUE(plain.lasting);
  EXPECT_THAT(plain.words, HasSubstr("does not speak TLS"));
}

TEST(CredentialsTest, AClosedConnectionMayPass) {
  EXPECT_FALSE(Explain("Socket closed").lasting);
  EXPECT_THAT(Explain("Socket closed").words, HasSubstr("--require-worker-certificates"));
  EXPECT_THAT(Explain("Socket closed", false).words, HasSubstr("needs --keys too"));
}

TEST(CredentialsTest, ACoordinatorThatIsNotThereNeedsNoMoreWords) {
  EXPECT_EQ(Explain("Failed to connect to remote host: Connection refused").words, "");
  EXPECT_EQ(ExplainTrouble(true, "").words, "");
}

}  // namespace
}  // namespace interlude
