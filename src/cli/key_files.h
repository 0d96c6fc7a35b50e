// The files of a keys directory, as `interlude keys init` makes them: names, and reading those that
// one program needs. Their meaning: docs/security.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "wire/transport_keys.h"

namespace interlude {

inline constexpr char kAuthorityName[] = "ca";
inline constexpr char kCoordinatorName[] = "coordinator";
inline constexpr char kTokenFile[] = "join.token";
/// Of who may read the live page, and nothing else.
inline constexpr char kPageTokenFile[] = "page.token";
inline constexpr size_t kTokenBytes = 32;

/// Now, for the validity of certificates.
int64_t SecondsSinceEpoch();

/// "worker-3": the name in that worker's certificate, and of its files.
std::string WorkerName(int worker);
std::string CertificateFile(const std::string& name);
std::string KeyFile(const std::string& name);

/// The bytes of a small file. What the disk says, with the path; InvalidArgument when it is longer
/// than any key.
StatusOr<std::string> ReadKeyFile(const std::string& path);

/// The token in a file of one. InvalidArgument, without the text, when it is none.
StatusOr<std::string> ReadToken(const std::string& path);

/// coordinator.crt, coordinator.key and join.token; with `require_worker_certificates` also ca.crt.
/// Errors name the file and what is wrong with it: absent, no such thing, over, a key of another
/// certificate. Logs a warning for a private file that others on this machine may read.
StatusOr<TransportKeys> LoadCoordinatorKeys(const std::string& directory,
                                            bool require_worker_certificates, int64_t now);

/// The page.token of a keys directory. NotFound, with how to make one, when there is none: keys of
/// before the page lack it.
StatusOr<std::string> LoadPageToken(const std::string& directory);

/// ca.crt and join.token; and, where they are there, worker.crt and worker.key, else those of
/// `worker`. Errors as LoadCoordinatorKeys.
StatusOr<TransportKeys> LoadWorkerKeys(const std::string& directory, std::optional<int> worker,
                                       int64_t now);

}  // namespace interlude
