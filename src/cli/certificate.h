// X.509 certificates and their keys: making them for a private CA, and looking at them. The only
// place that names OpenSSL. All text is PEM; keys are EC P-256. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace interlude {

/// A certificate and the private key to it.
struct CertifiedKey {
  std::string certificate_pem;
  std::string key_pem;
};

/// Seconds since the Unix epoch.
struct Validity {
  int64_t from = 0;
  int64_t until = 0;
};

/// A CA that may sign certificates of machines, no further CAs.
StatusOr<CertifiedKey> MakeAuthority(const std::string& name, const Validity& validity);

/// What a certificate may be used for; TLS refuses it for the other.
enum class CertificateUse { kServing, kConnecting };

/// A certificate for `name`, signed by `authority`. `hosts` are the DNS names and IP addresses
/// under which it may serve. InvalidArgument names a host that is neither.
StatusOr<CertifiedKey> MakeCertificate(const CertifiedKey& authority, const std::string& name,
                                       CertificateUse use, const std::vector<std::string>& hosts,
                                       const Validity& validity);

/// What a person wants to know of a certificate.
struct CertificateFacts {
  std::string subject;             // its name (CN)
  std::vector<std::string> hosts;  // that it may serve as
  Validity validity;
  std::string fingerprint;  // SHA-256 of the certificate, hex with colons
};

/// InvalidArgument for text that is no certificate.
StatusOr<CertificateFacts> ReadCertificate(const std::string& certificate_pem);

/// Whether TLS can use the pair now: FailedPrecondition says that the key is another certificate's,
/// or that the certificate is over or not yet valid, and since when. Who signed it the other side
/// finds out.
Status CheckCertificate(const CertifiedKey& pair, int64_t now);

/// Secret text from the system's generator: 2 * `bytes` hexadecimal digits.
StatusOr<std::string> RandomHex(size_t bytes);

/// The first 16 hexadecimal digits of the SHA-256: tells two secrets apart and tells nothing else.
std::string ShortDigest(const std::string& text);

}  // namespace interlude
