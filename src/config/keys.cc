#include "config/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "config/model_presets.h"
#include "config/nearest.h"

namespace interlude {
namespace {

/// The dotted name of a member of RunConfig, which is also the key's name, and the way to reach it.
#define MEMBER(path) \
#path, [](auto& config) -> auto& { return config.path; }

template <typename Field>
using FieldType = std::remove_cvref_t<std::invoke_result_t<Field, RunConfig&>>;

template <typename Field>
Key Integer(std::string_view name, Field field, uint64_t least, uint64_t most,
            std::string_view comment) {
  Key key{.full_name = name, .comment = comment, .type = KeyType::kInteger};
  key.least = least;
  key.most = most;
  key.get = [field](const RunConfig& config) { return KeyValue(uint64_t{field(config)}); };
  key.set = [field](const KeyValue& value, RunConfig& config) {
    field(config) = static_cast<FieldType<Field>>(std::get<uint64_t>(value));
  };
  return key;
}

template <typename Field>
Key Simple(KeyType type, std::string_view name, Field field, std::string_view comment) {
  Key key{.full_name = name, .comment = comment, .type = type};
  key.get = [field](const RunConfig& config) { return KeyValue(field(config)); };
  key.set = [field](const KeyValue& value, RunConfig& config) {
    field(config) = std::get<FieldType<Field>>(value);
  };
  return key;
}

template <typename Field>
Key Number(std::string_view name, Field field, double low, double high, std::string_view comment) {
  Key key = Simple(KeyType::kNumber, name, field, comment);
  key.low = low;
  key.high = high;
  return key;
}

template <typename Field>
Key NumberBelow(std::string_view name, Field field, double high, std::string_view comment) {
  Key key = Number(name, field, 0, high, comment);
  key.high_excluded = true;
  return key;
}

/// A decay rate: from 0 to below 1.
template <typename Field>
Key Rate(std::string_view name, Field field, std::string_view comment) {
  return NumberBelow(name, field, 1, comment);
}

template <typename Field>
Key OptionalText(std::string_view name, Field field, std::string_view comment) {
  Key key = Simple(KeyType::kText, name, field, comment);
  key.may_be_empty = true;
  return key;
}

/// `choices` in the order of the enum's values, which count from `first`.
template <typename Field>
Key Choice(std::string_view name, Field field, std::vector<std::string_view> choices,
           std::string_view comment, ptrdiff_t first = 0) {
  Key key{.full_name = name, .comment = comment, .type = KeyType::kChoice};
  key.choices = choices;
  key.get = [field, choices, first](const RunConfig& config) {
    const ptrdiff_t number = static_cast<ptrdiff_t>(field(config)) - first;
    return KeyValue(std::string(choices.at(static_cast<size_t>(number))));
  };
  key.set = [field, choices, first](const KeyValue& value, RunConfig& config) {
    const auto it = std::find(choices.begin(), choices.end(), std::get<std::string>(value));
    field(config) = static_cast<FieldType<Field>>(it - choices.begin() + first);
  };
  return key;
}

/// A string of which only some values are known.
template <typename Field>
Key NamedChoice(std::string_view name, Field field, std::vector<std::string_view> choices,
                std::string_view comment) {
  Key key = Simple(KeyType::kChoice, name, field, comment);
  key.choices = std::move(choices);
  return key;
}

/// Sets the keys that the preset stands for as well.
Key PresetKey() {
  Key key{
      .full_name = "model.preset",
      .comment =
          "a ViT by name (interlude model list): sets kind, image_size, channels, patch_size, "
          "hidden_size, layers, heads, mlp_size and layer_norm_epsilon where they are not given",
      .type = KeyType::kChoice};
  key.choices = {""};
  key.choices.insert(key.choices.end(), AllPresets().begin(), AllPresets().end());
  key.get = [](const RunConfig& config) { return KeyValue(config.model.preset); };
  key.set = [](const KeyValue& value, RunConfig& config) {
    const std::string& name = std::get<std::string>(value);
    if (!ApplyPreset(name, config.model)) config.model.preset.clear();
  };
  return key;
}

constexpr uint64_t kMillion = 1'000'000;
/// As fp32 anything much closer to 1 is 1, and an average that keeps all of itself is none.
constexpr double kMostEmaDecay = 0.999'999;
constexpr uint64_t kLargestTomlInteger = 9'223'372'036'854'775'807u;

// clang-format off
const std::vector<Key>& Table() {
  static const std::vector<Key> table = {
    Integer(MEMBER(seed), 0, kLargestTomlInteger, "everything random in the run follows from it"),
    Integer(MEMBER(threads), 0, 1024, "threads of each process; 0: the usable cores divided among the processes on a machine"),

    PresetKey(),
    Choice(MEMBER(model.kind), {"vit", "convnet", "torchscript", "module", "synthetic"}, "torchscript, module: your own (docs/own-model.md); synthetic: parameters move pseudo-randomly"),
    OptionalText(MEMBER(model.file), "on each worker's machine; torchscript"),
    OptionalText(MEMBER(model.file_hash), "what its XXH3-128 must be; empty: the coordinator's file's, where it has one; torchscript"),
    OptionalText(MEMBER(model.module), "name in the worker's program; module"),
    Integer(MEMBER(model.image_size), 1, 4096, "pixels a side"),
    Integer(MEMBER(model.channels), 1, 16, "colors of the images"),
    Integer(MEMBER(model.patch_size), 1, 4096, "pixels a side, divides image_size; vit"),
    Integer(MEMBER(model.hidden_size), 1, 65536, "multiple of heads; vit"),
    Integer(MEMBER(model.layers), 1, 1024, "transformer layers; vit"),
    Integer(MEMBER(model.heads), 1, 1024, "attention heads; vit"),
    Integer(MEMBER(model.mlp_size), 1, kMillion, "width of the hidden layer of each MLP; vit"),
    Integer(MEMBER(model.classes), 2, kMillion, "classes to tell apart"),
    Number(MEMBER(model.layer_norm_epsilon), 1e-30, 1, "keeps layer norms finite: 1e-6 in timm, torchvision and the presets, 1e-12 in many models of Hugging Face; vit"),
    Rate(MEMBER(model.dropout), "share of the values dropped while training: after the embedding, attention and both layers of each MLP; vit"),
    Rate(MEMBER(model.stochastic_depth), "share of the samples that skip a branch of the last layer while training, in proportion less in those before; vit"),
    OptionalText(MEMBER(model.pretrained), "first parameters from this safetensors file, directory or index (docs/models.md), on at least one worker's machine; empty: made from the seed; vit"),
    Simple(KeyType::kBoolean, MEMBER(model.new_head), "the classifier begins anew even where the pretrained one has as many classes"),
    Simple(KeyType::kBoolean, MEMBER(model.allow_missing), "run even where more than the classifier isn't in the pretrained file, or the file holds more than the model"),
    Integer(MEMBER(model.synthetic_params), 1, 100'000 * kMillion, "parameters; synthetic"),
    Number(MEMBER(model.synthetic_step_ms), 0, 3.6e6, "time that each local step takes, in ms; synthetic"),
    Number(MEMBER(model.synthetic_cpu_ms), 0, 3.6e6, "CPU time of each local step, in ms, divided among threads that spin until all are done; synthetic"),
    Integer(MEMBER(model.synthetic_read_mb), 0, kMillion, "megabytes that each local step reads from a disk; synthetic"),
    Integer(MEMBER(model.synthetic_map_mb), 0, kMillion, "megabytes of a mapped file that each local step touches; synthetic"),

    NamedChoice(MEMBER(data.name), {"fashion_mnist", "mnist", "cifar10", "cifar100", "pets", "folder", "csv"}, "the data set, or the layout of your own (docs/data.md)"),
    Simple(KeyType::kText, MEMBER(data.directory), "where its files are"),
    Choice(MEMBER(data.sharing), {"split", "local"}, "local: each worker trains on pictures of its own, in its --data"),
    Integer(MEMBER(data.train_limit), 0, kMillion * kMillion, "use only the first N training samples; 0: all"),
    Integer(MEMBER(data.test_limit), 0, kMillion * kMillion, "use only the first N test samples; 0: all"),
    Simple(KeyType::kText, MEMBER(data.train_csv), "file of paths and labels, below directory; csv"),
    Simple(KeyType::kText, MEMBER(data.test_csv), "the same for the test set; without such a file test_share of each class is set aside; csv"),
    Number(MEMBER(data.test_share), 0.001, 0.9, "share of each class that is set aside as the test set, always the same pictures; folder and csv without a test part"),
    Number(MEMBER(data.bad_share), 0, 1, "share of the training (test) files that may be missing or damaged; each is named and the next one taken instead; beyond it the run fails; pets, folder, csv"),
    Integer(MEMBER(data.max_megapixels), 1, 10'000, "a picture of more is not decoded and counts as damaged; pets, folder, csv"),
    Integer(MEMBER(data.decode_side), 0, 65'536, "shorter side, in pixels, that training pictures are scaled down to when they are decoded; 0: so large that the smallest random crop has as many pixels as the model sees; pets, folder, csv"),
    Simple(KeyType::kBoolean, MEMBER(data.cache), "decoded pictures stay in memory; changes no bit; pets, folder, csv"),
    Integer(MEMBER(data.cache_mb), 0, 100 * kMillion, "megabytes for them; 0: a quarter of the memory that is available at the start"),
    Integer(MEMBER(data.loader_threads), 0, 1024, "threads that prepare batches; 0: as many as threads, or none where the pictures are in memory and nothing random is done to them"),
    Integer(MEMBER(data.prefetch), 1, 64, "batches that are prepared ahead"),

    Simple(KeyType::kBoolean, MEMBER(augment.random_crop), "training sees a random part of each picture, scaled to model.image_size; false: what evaluation sees"),
    Number(MEMBER(augment.scale_min), 0.001, 1, "least share of the picture's area; random_crop"),
    Number(MEMBER(augment.scale_max), 0.001, 1, "largest share of the picture's area; random_crop"),
    Number(MEMBER(augment.ratio_min), 0.1, 10, "least width : height of the part; random_crop"),
    Number(MEMBER(augment.ratio_max), 0.1, 10, "largest width : height of the part; random_crop"),
    Number(MEMBER(augment.flip), 0, 1, "probability of a picture's mirror image"),
    Number(MEMBER(augment.brightness), 0, 1, "brightness times a random factor between 1 - this and 1 + this"),
    Number(MEMBER(augment.contrast), 0, 1, "the same for the contrast"),
    Number(MEMBER(augment.saturation), 0, 1, "the same for the saturation"),
    Integer(MEMBER(augment.randaugment_ops), 0, 16, "random operations on each picture one after the other, as RandAugment does; 0: off"),
    Number(MEMBER(augment.randaugment_magnitude), 0, 10, "how strong they are"),
    Number(MEMBER(augment.mixup), 0, 10, "pictures of a batch are mixed in pairs by a share from Beta(this, this); 0: off"),
    Choice(MEMBER(augment.normalize), {"data", "imagenet", "half"}, "mean and deviation that pixels are normalised with; data: the data set's own, for files of pictures ImageNet's; half: 0.5 and 0.5"),
    Number(MEMBER(augment.eval_crop), 0, 1, "share of the shorter side that evaluation sees, in the middle; at least 0.25; 0: 0.875 for files of pictures, else all"),

    NamedChoice(MEMBER(train.device), {"cpu", "cuda", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7", "cpu_tensors"},
                "where each worker trains; cuda: the first that the process sees; cpu_tensors: the CPU as if it were a device, for tests"),
    Choice(MEMBER(train.optimizer), {"adamw", "sgd"}, "the local optimizer"),
    Number(MEMBER(train.learning_rate), 0, 100, "after warm-up"),
    Number(MEMBER(train.weight_decay), 0, 10, "decoupled from the gradient with adamw"),
    Rate(MEMBER(train.momentum), "sgd"),
    Rate(MEMBER(train.beta1), "decay of the first moment; adamw"),
    Rate(MEMBER(train.beta2), "decay of the second moment; adamw"),
    Number(MEMBER(train.epsilon), 1e-30, 1, "keeps the division finite; adamw"),
    Integer(MEMBER(train.batch), 1, kMillion, "samples a local step of each worker"),
    Choice(MEMBER(train.schedule), {"cosine", "constant"}, "of the learning rate over the run's local steps"),
    Integer(MEMBER(train.warmup_steps), 0, 1000 * kMillion, "local steps in which the learning rate rises from 0"),
    Number(MEMBER(train.final_learning_rate_ratio), 0, 1, "cosine ends at this share of learning_rate"),
    Number(MEMBER(train.layer_decay), 0.001, 1, "the learning rate of each layer is this times that of the layer above it; 1: the same for all"),
    Number(MEMBER(train.clip_norm), 0, 1e9, "a gradient that is longer is scaled down to this length; 0: off"),
    Integer(MEMBER(train.accumulate), 1, kMillion, "parts that a local step's batch is computed in, one after the other, for less memory; at most batch"),
    Choice(MEMBER(train.autocast), {"none", "bf16"}, "bf16: matrix products and convolutions in bfloat16; parameters, gradient and optimizer stay fp32"),
    NumberBelow(MEMBER(train.label_smoothing), 1, "share of each label that goes to all classes alike; training only"),

    Integer(MEMBER(round.rounds), 1, kMillion, "rounds of the run"),
    Integer(MEMBER(round.local_steps), 1, kMillion, "local optimizer steps of each worker in a round"),
    Choice(MEMBER(round.exchange), {"pipelined", "barrier"}, "barrier: everything of one stage before the next, for comparison"),
    Choice(MEMBER(round.codec), {"q4", "fp32", "q8"}, "of deltas and sync deltas: 4.25, 32 or 8.25 bits a parameter", 1),
    Integer(MEMBER(round.chunk_params), 64, uint64_t{1} << 28, "parameters a chunk, the unit of exchange; multiple of 64"),
    Simple(KeyType::kBoolean, MEMBER(round.error_feedback), "workers keep what encoding lost for the next round; 4 bytes a parameter"),
    Choice(MEMBER(round.persistence), {"on_demand", "every_round"}, "when a full model is saved; every_round for comparison"),
    Integer(MEMBER(round.retained_syncs), 2, 1000, "committed rounds whose sync deltas stay on disk for workers that catch up"),
    Integer(MEMBER(round.snapshot_every), 1, 400, "rounds between snapshots of the coordinator's state; deltas stay on disk for twice as many"),
    Number(MEMBER(round.quorum), 0, 1, "share of a round's members that must have delivered a chunk before it is closed without one that is late"),
    Number(MEMBER(round.patience), 0, 1000, "a worker is late beyond so many times its usual time; 0: workers that are connected are waited for without end"),
    Number(MEMBER(round.reconnect_s), 0, 86'400, "how long a round waits for a worker whose connection broke"),
    Integer(MEMBER(round.max_refusals), 1, kMillion, "a worker is excluded after so many updates or messages that were wrong"),
    Integer(MEMBER(round.evaluate_every), 0, kMillion, "rounds between evaluations on the test set; 0: only at the end"),
    Simple(KeyType::kBoolean, MEMBER(round.save_best), "with evaluate_every: whenever the accuracy is the best so far the model is saved as model-best.safetensors"),

    Choice(MEMBER(outer.merge), {"weighted_mean", "mean", "trimmed_mean", "coordinate_median"}, "weighted by the samples that each worker saw; trimmed_mean and coordinate_median weigh nobody and bear bad updates"),
    NumberBelow(MEMBER(outer.trim), 0.5, "share of the values cut from each end, rounded up; trimmed_mean"),
    Number(MEMBER(outer.norm_bound), 0, 1e6, "a delta longer than this times the median length is scaled down to it, chunk by chunk; at least 1; 0: off"),
    Choice(MEMBER(outer.optimizer), {"nesterov", "sgd", "adam"}, "turns the merged delta into the step of the base"),
    Number(MEMBER(outer.learning_rate), 0, 100, "1 with sgd takes the merged delta as it is"),
    Rate(MEMBER(outer.momentum), "nesterov"),
    Rate(MEMBER(outer.beta1), "decay of the first moment; adam"),
    Rate(MEMBER(outer.beta2), "decay of the second moment; adam"),
    Number(MEMBER(outer.epsilon), 1e-30, 1, "keeps the division finite; adam"),
    Number(MEMBER(outer.ema_decay), 0, kMostEmaDecay, "the coordinator keeps a moving average of the base that keeps this share of itself each round, and saves it as model-ema.safetensors; 4 bytes a parameter; 0: off"),
    OptionalText(MEMBER(outer.plugin), "path of a shared library with a merge rule or outer optimizer of your own (include/interlude/merge_plugin.h); empty: none; only the coordinator loads it"),
    OptionalText(MEMBER(outer.plugin_config), "text handed to the plug-in"),
  };
  return table;
}
// clang-format on
#undef MEMBER

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string NumberText(double value) {
  std::string text = fmt::format("{}", value);
  // TOML tells 1 from 1.0.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

/// What a text key holds at most: with it a whole description, written out and each character of
/// its texts escaped, can be read again (toml_text.h bounds its length).
constexpr size_t kMostTextBytes = 1024;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string_view Key::section() const {
  const size_t dot = full_name.find('.');
  return dot == std::string_view::npos ? std::string_view() : full_name.substr(0, dot);
}

std::string_view Key::name() const { return full_name.substr(full_name.find('.') + 1); }

std::string_view Key::TypeName() const {
  switch (type) {
    case KeyType::kInteger:
      return "an integer";
    case KeyType::kNumber:
      return "a number";
    case KeyType::kBoolean:
      return "true or false";
    case KeyType::kChoice:
    case KeyType::kText:
      break;
  }
  return "a string";
}

std::string Key::RangeText() const {
  if (type == KeyType::kInteger) return fmt::format("{} to {}", least, most);
  if (type == KeyType::kNumber) {
    return fmt::format("{} to {}{}", low, high_excluded ? "below " : "", high);
  }
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += Quoted(choices[i]);
  }
  return text;
}

Status Key::CheckRange(const KeyValue& value) const {
  bool inside = true;
  if (type == KeyType::kInteger) {
    const uint64_t number = std::get<uint64_t>(value);
    inside = number >= least && number <= most;
  } else if (type == KeyType::kNumber) {
    const double number = std::get<double>(value);  // NaN is outside of every range
    inside = number >= low && (high_excluded ? number < high : number <= high);
  } else if (type == KeyType::kChoice) {
    const std::string& text = std::get<std::string>(value);
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return OkStatus();
    const auto nearest = NearestWord(text, choices);
    return InvalidArgumentError("{} = {} is not one of {}{}", full_name, Quoted(text), RangeText(),
                                nearest ? fmt::format("; did you mean {}?", Quoted(*nearest)) : "");
  } else if (type == KeyType::kText) {
    const std::string& text = std::get<std::string>(value);
    if ((text.empty() && !may_be_empty) || std::any_of(text.begin(), text.end(), IsControl)) {
      return InvalidArgumentError("{} must {} contain control characters", full_name,
                                  may_be_empty ? "not" : "be neither empty nor");
    }
    if (text.size() > kMostTextBytes) {
      return InvalidArgumentError("{} has {} bytes; a text has at most {}", full_name, text.size(),
                                  kMostTextBytes);
    }
  }
  if (inside) return OkStatus();
  return InvalidArgumentError("{} = {} is out of range {}", full_name, KeyValueText(value),
                              RangeText());
}

std::span<const Key> AllKeys() { return Table(); }

const Key* FindKey(std::string_view full_name) {
  for (const Key& key : Table()) {
    if (key.full_name == full_name) return &key;
  }
  return nullptr;
}

std::span<const std::string_view> AllSections() {
  static const std::vector<std::string_view> sections = [] {
    std::vector<std::string_view> names;
    for (const Key& key : Table()) {
      if (key.section().empty()) continue;
      if (names.empty() || names.back() != key.section()) names.push_back(key.section());
    }
    return names;
  }();
  return sections;
}

std::string KeyValueText(const KeyValue& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<double>(&value)) return NumberText(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return Quoted(std::get<std::string>(value));
}

}  // namespace interlude
