// What coordinator and workers say to each other, as plain values: proto/interlude.proto without
// protobuf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/hash128.h"
#include "base/status.h"
#include "codec/chunk_codec.h"
#include "layout/layout.h"
#include "ledger/account.h"
#include "ledger/confusion.h"
#include "ledger/data_facts.h"
#include "protocol/types.h"

namespace interlude {

/// Raised with every change that an older program could not follow.
inline constexpr uint32_t kProtocolVersion = 5;

// ---- from the worker ----

struct JoinMessage {
  uint32_t protocol_version = kProtocolVersion;
  std::string software;
  std::string host;
  int64_t process_id = 0;
  std::optional<WorkerId> requested_worker;
  int32_t visible_cores = 0;
  double quota_cores = 0;  // 0: none
  int32_t usable_cores = 0;
  uint64_t session = 0;  // of the stay that is to go on; 0: a new one
};

struct BaseOfferMessage {
  Layout layout;  // rebuilt and checked against the sender's signature when it arrives
  std::vector<Hash128> chunk_hashes;
  Account account;
  int32_t threads = 0;
  bool may_provide = true;  // this model may become the first base
  DataFacts data;
};

struct CaughtUpMessage {
  uint32_t round = 0;
  uint32_t base_chunks = 0;
  uint32_t sync_chunks = 0;
  uint64_t bytes = 0;
  Account account;
};

struct ProgressMessage {
  uint32_t round = 0;
  uint32_t steps_done = 0;
  uint32_t steps = 0;
  double loss = 0;
};

struct RoundReportMessage {
  uint32_t round = 0;
  Hash128 root;
  uint64_t samples = 0;
  double mean_loss = 0;
  double last_loss = 0;
  uint32_t repaired_chunks = 0;
  uint64_t upload_bytes = 0;
  uint64_t download_bytes = 0;
  Account account;
};

struct EvaluationReportMessage {
  uint32_t after_rounds = 0;
  uint64_t correct = 0;
  uint64_t samples = 0;
  double loss_sum = 0;
  Account account;
  uint32_t classes = 0;  // 0: what stands below is not known
  uint64_t top5 = 0;
  Confusion confusion;
};

struct LeaveMessage {
  bool failed = false;
  std::string reason;
};

using WorkerMessage = std::variant<JoinMessage, BaseOfferMessage, CaughtUpMessage, ProgressMessage,
                                   RoundReportMessage, EvaluationReportMessage, LeaveMessage>;

// ---- from the coordinator ----

struct WelcomeMessage {
  WorkerId worker = 0;
  uint32_t workers = 0;
  uint64_t session = 0;
  std::string run_id;
  std::string config_toml;
  bool resumed = false;      // the stay that Join named goes on
  uint32_t last_number = 0;  // resumed: the newest message of the worker that has come
};

struct ProvideBaseMessage {};

/// In chunk_rounds: the worker's chunk is no base of the run.
inline constexpr uint32_t kNoBase = UINT32_MAX;

struct CatchUpMessage {
  uint32_t committed_rounds = 0;
  std::vector<uint32_t> chunk_rounds;  // none: as the worker knows
};

struct StartRoundMessage {
  uint32_t round = 0;
  bool evaluate = false;
  uint32_t evaluation_part = 0;
  uint32_t evaluation_parts = 1;
  Hash128 base_root;
};

struct FinishMessage {
  uint32_t after_rounds = 0;
  uint32_t evaluation_part = 0;
  uint32_t evaluation_parts = 1;
};

/// kOk: the run is finished. Any other code: why this worker, or the run, ends before that.
struct GoodbyeMessage {
  StatusCode code = StatusCode::kOk;  // OK: the run is finished; any other: why this stay ends
  std::string reason;
};

using CoordinatorMessage = std::variant<WelcomeMessage, ProvideBaseMessage, CatchUpMessage,
                                        StartRoundMessage, FinishMessage, GoodbyeMessage>;

// ---- bulk ----

enum class UploadKind : uint8_t { kDelta = 1, kBase = 2 };
enum class DownloadKind : uint8_t { kSync = 1, kBase = 2 };

struct UploadHeader {
  WorkerId worker = 0;
  uint64_t session = 0;
  UploadKind kind = UploadKind::kDelta;
  uint32_t round = 0;
  Codec codec = Codec::kQ4;
  uint64_t samples = 0;
  std::vector<uint32_t> chunks;  // none: all
};

struct DownloadOrder {
  WorkerId worker = 0;
  uint64_t session = 0;
  DownloadKind kind = DownloadKind::kSync;
  uint32_t round = 0;
  std::vector<uint32_t> chunks;  // none: all
};

}  // namespace interlude
