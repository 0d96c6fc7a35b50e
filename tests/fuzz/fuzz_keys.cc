// Key files: a join token, and a certificate and a private key, each beside one that we made.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "cli/certificate.h"
#include "cli/key_files.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace interlude;
  constexpr int64_t kNow = 1'800'000'000;
  static MemoryFile memory;
  const std::string path = memory.Holding(std::as_bytes(std::span(data, size)));
  const auto token = ReadToken(path);
  if (token.ok()) INTERLUDE_CHECK(token->size() == 2 * kTokenBytes, "{} digits", token->size());

  const auto text = ReadKeyFile(path);
  if (!text.ok()) return 0;
  static const CertifiedKey& ours =
      *new CertifiedKey(*MakeAuthority("fuzz", {.from = 0, .until = 2 * kNow}));
  const bool is_certificate = ReadCertificate(*text).ok();
  for (const CertifiedKey& pair :
       {CertifiedKey{*text, ours.key_pem}, CertifiedKey{ours.certificate_pem, *text},
        CertifiedKey{*text, *text}}) {
    const bool usable = CheckCertificate(pair, kNow).ok();
    INTERLUDE_CHECK(!usable || is_certificate || pair.certificate_pem != *text,
                    "a pair of no certificate");
  }
  return 0;
}
