#include "cli/key_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>

#include "base/clock.h"
#include "base/log.h"
#include "cli/certificate.h"
#include "store/file.h"

namespace interlude {
namespace {

/// More than a long chain of certificates.
constexpr uint64_t kMostKeyBytes = 1 << 20;

std::string In(const std::string& directory, const std::string& file) {
  return (std::filesystem::path(directory) / file).string();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

/// As ReadKeyFile, for what must stay on this machine.
StatusOr<std::string> ReadPrivateFile(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    LogWarning("{} may be read by others on this machine: chmod 600 {}", path, path);
  return ReadKeyFile(path);
}

Status ReadPair(const std::string& directory, const std::string& name, int64_t now,
                TransportKeys& keys) {
  const std::string path = In(directory, CertificateFile(name));
  CertifiedKey pair;
  INTERLUDE_ASSIGN_OR_RETURN(pair.certificate_pem, ReadKeyFile(path));
  INTERLUDE_ASSIGN_OR_RETURN(pair.key_pem, ReadPrivateFile(In(directory, KeyFile(name))));
  INTERLUDE_RETURN_IF_ERROR(CheckCertificate(pair, now).WithContext(path));
  keys.certificate_pem = std::move(pair.certificate_pem);
  keys.key_pem = std::move(pair.key_pem);
  return OkStatus();
}

Status ReadAuthority(const std::string& directory, TransportKeys& keys) {
  const std::string path = In(directory, CertificateFile(kAuthorityName));
  INTERLUDE_ASSIGN_OR_RETURN(keys.ca_pem, ReadKeyFile(path));
  return ReadCertificate(keys.ca_pem).status().WithContext(path);
}

}  // namespace

int64_t SecondsSinceEpoch() {
  return std::chrono::duration_cast<std::chrono::seconds>(SystemClock().WallTime()).count();
}

std::string WorkerName(int worker) { return fmt::format("worker-{}", worker); }
std::string CertificateFile(const std::string& name) { return name + ".crt"; }
std::string KeyFile(const std::string& name) { return name + ".key"; }

StatusOr<std::string> ReadKeyFile(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  INTERLUDE_ASSIGN_OR_RETURN(const uint64_t size, FileSize(file, path));
  if (size > kMostKeyBytes) {
    return InvalidArgumentError("{} has {} bytes: no key or certificate is that long", path, size);
  }
  std::string text(size, '\0');
  INTERLUDE_RETURN_IF_ERROR(
      ReadFullyAt(file, 0, std::as_writable_bytes(std::span(text.data(), text.size())), path));
  return text;
}

StatusOr<std::string> ReadToken(const std::string& path) {
  INTERLUDE_ASSIGN_OR_RETURN(std::string token, ReadPrivateFile(path));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool hex = std::all_of(token.begin(), token.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (!hex || token.size() != 2 * kTokenBytes) {
    return InvalidArgumentError("{} holds no token ({} hexadecimal digits): copy it again", path,
                                2 * kTokenBytes);
  }
  return token;
}

StatusOr<std::string> LoadPageToken(const std::string& directory) {
  const std::string path = In(directory, kPageTokenFile);
  if (!Exists(path)) {
    return NotFoundError(
        "{} is not there, and others may read the page only with it: make it with (umask 077; "
        "openssl rand -hex {} > {})",
        path, kTokenBytes, path);
  }
  return ReadToken(path);
}

StatusOr<TransportKeys> LoadCoordinatorKeys(const std::string& directory,
                                            bool require_worker_certificates, int64_t now) {
  TransportKeys keys;
  INTERLUDE_RETURN_IF_ERROR(ReadPair(directory, kCoordinatorName, now, keys));
  INTERLUDE_ASSIGN_OR_RETURN(keys.join_token, ReadToken(In(directory, kTokenFile)));
  if (require_worker_certificates) INTERLUDE_RETURN_IF_ERROR(ReadAuthority(directory, keys));
  return keys;
}

StatusOr<TransportKeys> LoadWorkerKeys(const std::string& directory, std::optional<int> worker,
                                       int64_t now) {
  TransportKeys keys;
  INTERLUDE_RETURN_IF_ERROR(ReadAuthority(directory, keys));
  INTERLUDE_ASSIGN_OR_RETURN(keys.join_token, ReadToken(In(directory, kTokenFile)));
  const std::string signing_key = In(directory, KeyFile(kAuthorityName));
  if (Exists(signing_key)) {
    LogWarning("{} belongs on no worker's machine: whoever has it can be anybody", signing_key);
  }
  std::string name = "worker";
  if (worker && !Exists(In(directory, CertificateFile(name)))) name = WorkerName(*worker);
  if (Exists(In(directory, CertificateFile(name))))
    INTERLUDE_RETURN_IF_ERROR(ReadPair(directory, name, now, keys));
  return keys;
}

}  // namespace interlude
