// A run's description: the one TOML file that the coordinator reads and hands to the workers.
// Plain values; no I/O besides text in and out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace interlude {

enum class ModelKind { kVit, kConvNet, kTorchScript, kModule, kSynthetic };
enum class LocalOptimizerKind { kAdamW, kSgd };
enum class SharingKind { kSplit, kLocal };
enum class NormalizeKind { kData, kImageNet, kHalf };
enum class ScheduleKind { kCosine, kConstant };
enum class AutocastKind { kNone, kBf16 };
enum class MergeRuleKind { kWeightedMean, kMean, kTrimmedMean, kCoordinateMedian };
enum class OuterOptimizerKind { kNesterov, kSgd, kAdam };
enum class CodecKind { kQ4 = 1, kFp32 = 2, kQ8 = 3 };  // the numbers are those of codec/
enum class ExchangeMode { kPipelined, kBarrier };
enum class PersistenceMode { kOnDemand, kEveryRound };

/// [model]
struct ModelConfig {
  std::string preset;                // config/model_presets.h; empty: none
  ModelKind kind = ModelKind::kVit;  // "vit", "convnet", "torchscript", "module", "synthetic"
  // Models of one's own; docs/own-model.md
  std::string file;       // torchscript: what Python exported
  std::string file_hash;  // torchscript: of that file, in hex; empty: not known
  std::string module;     // module: the name that the worker's program gave it
  // vit
  uint32_t image_size = 28;  // pixels a side
  uint32_t channels = 1;
  uint32_t patch_size = 7;    // pixels a side; divides image_size
  uint32_t hidden_size = 64;  // multiple of heads
  uint32_t layers = 3;
  uint32_t heads = 4;
  uint32_t mlp_size = 128;
  uint32_t classes = 10;
  double layer_norm_epsilon = 1e-12;  // added to the variance in each layer norm; vit
  double dropout = 0;                 // share of the values set to 0 while training; vit
  double stochastic_depth = 0;        // share of samples that skip the last layer's branches; vit
  // The first parameters; all a safetensors file, a directory of one, or an index of several; vit
  std::string pretrained;      // empty: made from the seed
  bool new_head = false;       // also where the file has one for as many classes
  bool allow_missing = false;  // though more than the head is not in the file
  // synthetic
  uint64_t synthetic_params = 1'000'000;
  double synthetic_step_ms = 1.0;  // time each local step takes, or longer where the below do
  double synthetic_cpu_ms = 0;     // of it on a CPU, all threads together
  uint64_t synthetic_read_mb = 0;  // from a disk, each local step
  uint64_t synthetic_map_mb = 0;   // of a mapped file, touched each local step

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// [data]: which pictures, and how they are read. docs/data.md describes the layouts.
struct DataConfig {
  std::string name = "fashion_mnist";
  std::string directory = "/usr/share/datasets/fashion-mnist";
  SharingKind sharing = SharingKind::kSplit;  // local: each worker has a directory of its own
  uint64_t train_limit = 0;                   // use only the first N training samples; 0 means all
  uint64_t test_limit = 0;                    // use only the first N test samples; 0 means all
  std::string train_csv = "train.csv";
  std::string test_csv = "test.csv";
  double test_share = 0.2;  // of each class, where the data set has no test part of its own
  // files of pictures
  double bad_share = 0.01;  // of a part's files may be unreadable
  uint32_t max_megapixels = 100;
  uint32_t decode_side = 0;  // shorter side of a decoded training picture; 0: by the crop
  bool cache = true;         // decoded pictures stay in memory
  uint64_t cache_mb = 0;     // 0: a quarter of what is available
  uint32_t loader_threads = 0;
  uint32_t prefetch = 2;  // batches

  friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

/// Whether each worker has data of its own, whole, in place of a share of one data set.
inline bool IsLocal(const DataConfig& data) { return data.sharing == SharingKind::kLocal; }

/// [augment]: what is done to training pictures, and how pixels become floats.
struct AugmentConfig {
  bool random_crop = false;
  double scale_min = 0.08;  // share of the picture's area
  double scale_max = 1.0;
  double ratio_min = 0.75;  // width to height
  double ratio_max = 1.3333333333333333;
  double flip = 0;        // probability
  double brightness = 0;  // factors from 1 - it to 1 + it
  double contrast = 0;
  double saturation = 0;
  uint32_t randaugment_ops = 0;
  double randaugment_magnitude = 9;
  double mixup = 0;  // alpha of the Beta distribution; 0: off
  NormalizeKind normalize = NormalizeKind::kData;
  double eval_crop = 0;  // share of the shorter side that evaluation sees; 0: by the data set

  friend bool operator==(const AugmentConfig&, const AugmentConfig&) = default;
};

/// [train]: the local optimizer.
struct TrainConfig {
  std::string device = "cpu";  // where parameters, gradient and optimizer state are
  LocalOptimizerKind optimizer = LocalOptimizerKind::kAdamW;
  double learning_rate = 3e-3;
  double weight_decay = 0.05;
  double momentum = 0.9;  // sgd
  double beta1 = 0.9;     // adamw
  double beta2 = 0.999;   // adamw
  double epsilon = 1e-8;  // adamw
  uint32_t batch = 128;   // samples a local step
  ScheduleKind schedule = ScheduleKind::kCosine;
  uint32_t warmup_steps = 100;
  double final_learning_rate_ratio = 0.0;  // cosine ends at this share of learning_rate
  double layer_decay = 1;  // each layer's learning rate is this times that of the one above; 1: off
  double clip_norm = 0;    // longest gradient; 0: off
  uint32_t accumulate = 1;  // parts that a step's batch is computed in, at most batch
  AutocastKind autocast = AutocastKind::kNone;  // bf16: matrix products and convolutions
  double label_smoothing = 0;  // share of each label that goes to all classes alike

  friend bool operator==(const TrainConfig&, const TrainConfig&) = default;
};

/// [round]: what is exchanged, how and how often.
struct RoundConfig {
  uint32_t rounds = 36;
  uint32_t local_steps = 20;
  ExchangeMode exchange = ExchangeMode::kPipelined;
  CodecKind codec = CodecKind::kQ4;
  uint64_t chunk_params = 1u << 20;  // multiple of 64
  bool error_feedback = false;       // the worker keeps what encoding lost; 4 bytes a parameter
  PersistenceMode persistence = PersistenceMode::kOnDemand;
  uint32_t retained_syncs = 4;  // committed rounds whose sync deltas stay for those that catch up
  uint32_t snapshot_every = 4;  // rounds between snapshots of the coordinator's state
  double quorum = 0.5;          // share of the members without which no chunk is closed
  double patience = 3;          // a worker is late beyond so many times its usual time; 0: never
  double reconnect_s = 2;       // a worker whose connection broke is awaited so long
  uint32_t max_refusals = 3;    // wrong updates or messages after which a worker is excluded
  uint32_t evaluate_every = 0;  // rounds; 0 means only at the end
  bool save_best = true;        // with evaluate_every: the model whenever its accuracy is the best

  friend bool operator==(const RoundConfig&, const RoundConfig&) = default;
};

/// [outer]: merge rule and outer optimizer.
struct OuterConfig {
  MergeRuleKind merge = MergeRuleKind::kWeightedMean;
  double trim = 0.25;     // trimmed_mean: share cut from each end
  double norm_bound = 0;  // longest delta of a chunk, in medians; 0: off; else at least 1
  OuterOptimizerKind optimizer = OuterOptimizerKind::kNesterov;
  double learning_rate = 0.7;
  double momentum = 0.7;      // nesterov
  double beta1 = 0.9;         // adam
  double beta2 = 0.95;        // adam
  double epsilon = 1e-8;      // adam
  double ema_decay = 0;       // of a moving average of the base, saved beside it; 0: none
  std::string plugin;         // shared library with a merge rule or outer optimizer; empty: none
  std::string plugin_config;  // text handed to it

  friend bool operator==(const OuterConfig&, const OuterConfig&) = default;
};

struct RunConfig {
  uint64_t seed = 1;
  uint32_t threads =
      0;  // per process; 0 means the usable cores divided among the processes on this machine
  ModelConfig model;
  DataConfig data;
  AugmentConfig augment;
  TrainConfig train;
  RoundConfig round;
  OuterConfig outer;

  /// Local steps of the whole run: rounds * local_steps.
  uint64_t total_steps() const { return uint64_t{round.rounds} * round.local_steps; }

  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

/// Reads a run's TOML text; keys that it does not name keep their defaults. `source` names the text
/// in errors
/// ("examples/fashion_mnist.toml"). InvalidArgument, for the first fault in the text, with file,
/// line, column and key: for an unknown key the nearest known one; for a value out of range the
/// range; for a wrong type the type; for values that do not fit together (hidden_size and heads)
/// both keys. The keys stand in config/keys.cc. model.preset gives way to every other key that the
/// text names, wherever it stands.
StatusOr<RunConfig> ParseRunConfig(std::string_view toml_text, std::string_view source);

/// Applies "round.codec=fp32" settings in order on top of `config` (the value in TOML syntax; bare
/// words count as strings); model.preset before the others. Same errors as ParseRunConfig, with the
/// setting as the source. Whether values fit together is judged after the last setting. On an error
/// `config` is unchanged.
Status ApplySettings(const std::vector<std::string>& settings, RunConfig& config);

/// Every key with its comment, range and the value in `config`, as TOML that ParseRunConfig reads
/// back equal.
std::string FormatRunConfig(const RunConfig& config);

}  // namespace interlude
