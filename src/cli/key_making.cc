#include "cli/key_making.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <span>

#include "base/host_name.h"
#include "cli/key_files.h"
#include "store/file.h"

namespace interlude {
namespace {

namespace fs = std::filesystem;

Status MakeEmptyDirectory(const std::string& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_empty(directory, error)) {
    return AlreadyExistsError(
        "{} is not an empty directory, and keys are never overwritten: give another one, or remove "
        "it first",
        directory);
  }
  const fs::path parent = fs::path(directory).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return ErrnoError(errno, "cannot make " + directory);
  if (chmod(directory.c_str(), S_IRWXU) != 0)
    return ErrnoError(errno, "cannot keep others out of " + directory);
  return OkStatus();
}

/// A new file with exactly this mode from its first byte on.
Status WriteNew(const fs::path& path, const std::string& text, mode_t mode) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file.valid()) return ErrnoError(errno, "cannot make " + path.string());
  if (fchmod(file.get(), mode) != 0) return ErrnoError(errno, "cannot protect " + path.string());
  return WriteFully(file, std::as_bytes(std::span(text.data(), text.size())), path.string());
}

constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
constexpr mode_t kPublic = kPrivate | S_IRGRP | S_IROTH;

Status WritePair(const fs::path& directory, const std::string& name, const CertifiedKey& pair) {
  INTERLUDE_RETURN_IF_ERROR(WriteNew(directory / KeyFile(name), pair.key_pem, kPrivate));
  return WriteNew(directory / CertificateFile(name), pair.certificate_pem, kPublic);
}

Status MakePair(const KeyPlan& plan, const CertifiedKey& authority, const std::string& name,
                CertificateUse use, const std::vector<std::string>& hosts) {
  INTERLUDE_ASSIGN_OR_RETURN(const CertifiedKey pair,
                             MakeCertificate(authority, name, use, hosts, plan.validity));
  return WritePair(plan.directory, name, pair);
}

std::vector<std::string> CoordinatorHosts(const KeyPlan& plan) {
  std::vector<std::string> hosts = plan.hosts;
  for (const std::string& host : {std::string("localhost"), std::string("127.0.0.1"),
                                  std::string("::1"), HostName("localhost")}) {
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

std::string Day(int64_t seconds) {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string DescribeCertificate(const std::string& name, const CertificateFacts& facts,
                                int64_t now) {
  std::string text = fmt::format("{}\n  name         {}\n", name, facts.subject);
  if (!facts.hosts.empty()) text += fmt::format("  serves as    {}\n", fmt::join(facts.hosts, " "));
  const char* over = now > facts.validity.until  ? "  OVER"
                     : now < facts.validity.from ? "  NOT YET"
                                                 : "";
  text += fmt::format("  valid        {} to {}{}\n", Day(facts.validity.from),
                      Day(facts.validity.until), over);
  return text + fmt::format("  fingerprint  {}\n", facts.fingerprint);
}

}  // namespace

Status MakeKeys(const KeyPlan& plan) {
  // Nothing is made of a plan with a wrong name in it.
  INTERLUDE_ASSIGN_OR_RETURN(const CertifiedKey authority,
                             MakeAuthority("interlude private CA", plan.validity));
  INTERLUDE_ASSIGN_OR_RETURN(const CertifiedKey coordinator,
                             MakeCertificate(authority, kCoordinatorName, CertificateUse::kServing,
                                             CoordinatorHosts(plan), plan.validity));
  INTERLUDE_ASSIGN_OR_RETURN(const std::string token, RandomHex(kTokenBytes));
  INTERLUDE_ASSIGN_OR_RETURN(const std::string page_token, RandomHex(kTokenBytes));
  INTERLUDE_RETURN_IF_ERROR(MakeEmptyDirectory(plan.directory));
  INTERLUDE_RETURN_IF_ERROR(WritePair(plan.directory, kAuthorityName, authority));
  INTERLUDE_RETURN_IF_ERROR(WritePair(plan.directory, kCoordinatorName, coordinator));
  for (int worker = 0; worker < plan.workers; ++worker) {
    INTERLUDE_RETURN_IF_ERROR(
        MakePair(plan, authority, WorkerName(worker), CertificateUse::kConnecting, {}));
  }
  INTERLUDE_RETURN_IF_ERROR(
      WriteNew(fs::path(plan.directory) / kTokenFile, token + "\n", kPrivate));
  return WriteNew(fs::path(plan.directory) / kPageTokenFile, page_token + "\n", kPrivate);
}

std::string FormatKeyGuide(const KeyPlan& plan, const std::string& host) {
  const bool certified = plan.workers > 0;
  const std::string workers = certified ? fmt::format("{}", plan.workers) : "N";
  return fmt::format(
      "Made {0}, valid until {1}. What goes where, each into a directory of its own:\n"
      "  coordinator   coordinator.crt coordinator.key join.token page.token{2}\n"
      "  each worker   ca.crt join.token{3}\n"
      "  who reads     page.token (the page of coordinator --http; no right to join)\n"
      "  nowhere       ca.key (it signs; keep it offline, or delete it once nothing is to be "
      "added)\n"
      "\n"
      "On the coordinator's machine:\n"
      "  interlude coordinator --workers {4} --config run.toml --dir runs/first --listen "
      "0.0.0.0:7070 --keys {0}{5}\n"
      "On each worker's machine:\n"
      "  interlude worker --coordinator {6}:7070 --keys {0}{7}\n",
      plan.directory, Day(plan.validity.until), certified ? " ca.crt" : "",
      certified ? " worker-K.crt worker-K.key" : "", workers,
      certified ? " --require-worker-certificates" : "", host, certified ? " --id K" : "");
}

StatusOr<std::string> DescribeKeys(const std::string& directory, int64_t now) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".crt") paths.push_back(entry.path());
  }
  if (error) return ErrnoError(error.value(), "cannot read " + directory);
  if (paths.empty()) {
    return NotFoundError("{} holds no certificates: interlude keys init {} makes them", directory,
                         directory);
  }
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const fs::path& path : paths) {
    INTERLUDE_ASSIGN_OR_RETURN(const std::string pem, ReadKeyFile(path.string()));
    const StatusOr<CertificateFacts> facts = ReadCertificate(pem);
    if (!facts.ok()) return facts.status().WithContext(path.string());
    text += DescribeCertificate(path.filename().string(), *facts, now);
  }
  for (const char* file : {kTokenFile, kPageTokenFile}) {
    const std::string token_path = (fs::path(directory) / file).string();
    if (!fs::exists(token_path, error)) continue;
    INTERLUDE_ASSIGN_OR_RETURN(const std::string token, ReadToken(token_path));
    text += fmt::format("{}\n  digest       {} (the same wherever the token is the same)\n", file,
                        ShortDigest(token));
  }
  return text;
}

}  // namespace interlude
