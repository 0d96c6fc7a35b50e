#include "config/run_config.h"

#include <fmt/format.h>

#include <optional>

#include "config/keys.h"
#include "config/nearest.h"
#include "config/toml_text.h"

namespace interlude {
namespace {

/// Where a text's entries lie, for messages: " at FILE:LINE:COLUMN", or " at FILE" without a line.
struct Source {
  std::string_view name;
  bool has_lines = true;

  std::string At(uint32_t line, uint32_t column) const {
    if (!has_lines || line == 0) return fmt::format(" at {}", name);
    return fmt::format(" at {}:{}:{}", name, line, column);
  }
  std::string AtKey(const TomlEntry& entry) const { return At(entry.key_line, entry.key_column); }
  std::string AtValue(const TomlEntry& entry) const {
    return At(entry.value_line, entry.value_column);
  }
};

/// The known key meant by an unknown one: a small typing mistake, or the right name in a wrong
/// section.
std::optional<std::string_view> NearestKey(std::string_view typed) {
  const std::string_view typed_name = typed.substr(typed.rfind('.') + 1);
  std::vector<std::string_view> full_names;
  for (const Key& key : AllKeys()) full_names.push_back(key.full_name);
  if (const auto nearest = NearestWord(typed, full_names);
      nearest && typed.find('.') != typed.npos) {
    return nearest;
  }
  for (const Key& key : AllKeys()) {
    if (key.name() == typed_name) return key.full_name;
  }
  if (const auto nearest = NearestWord(typed, full_names)) return nearest;
  std::vector<std::string_view> names;
  for (const Key& key : AllKeys()) names.push_back(key.name());
  const auto nearest = NearestWord(typed_name, names);
  for (const Key& key : AllKeys()) {
    if (nearest && key.name() == *nearest) return key.full_name;
  }
  return std::nullopt;
}

std::string KnownKeysOf(std::string_view section) {
  std::string text;
  for (const Key& key : AllKeys()) {
    if (key.section() == section) text += fmt::format("{}{}", text.empty() ? "" : ", ", key.name());
  }
  return text;
}

bool IsSection(std::string_view name) {
  for (const std::string_view section : AllSections()) {
    if (section == name) return true;
  }
  return false;
}

Status UnknownKey(const TomlEntry& entry, const Source& source) {
  const size_t dot = entry.key.find('.');
  const std::string_view section =
      std::string_view(entry.key).substr(0, dot == std::string::npos ? 0 : dot);
  std::string help;
  if (const auto nearest = NearestKey(entry.key)) {
    help = fmt::format("; did you mean {}?", *nearest);
  } else if (section.empty()) {
    help = fmt::format("; keys outside every section are {}", KnownKeysOf(""));
  } else {
    help = fmt::format("; keys of [{}] are {}", section, KnownKeysOf(section));
  }
  return InvalidArgumentError("unknown key {}{}{}", entry.key, source.AtKey(entry), help);
}

Status UnknownSection(const TomlEntry& entry, const Source& source) {
  const auto nearest = NearestWord(entry.key, AllSections());
  const std::string help = nearest ? fmt::format("did you mean [{}]?", *nearest)
                                   : fmt::format("sections are {}", fmt::join(AllSections(), ", "));
  return InvalidArgumentError("unknown section [{}]{}; {}", entry.key, source.AtKey(entry), help);
}

/// The entry's value as the key's type; nothing when the types differ.
std::optional<KeyValue> Convert(const TomlValue& value, KeyType type) {
  switch (type) {
    case KeyType::kInteger:
      if (const auto* number = std::get_if<int64_t>(&value); number && *number >= 0) {
        return KeyValue(static_cast<uint64_t>(*number));
      }
      break;
    case KeyType::kNumber:
      if (const auto* number = std::get_if<double>(&value)) return KeyValue(*number);
      if (const auto* number = std::get_if<int64_t>(&value)) {
        return KeyValue(static_cast<double>(*number));
      }
      break;
    case KeyType::kBoolean:
      if (const auto* flag = std::get_if<bool>(&value)) return KeyValue(*flag);
      break;
    case KeyType::kChoice:
    case KeyType::kText:
      if (const auto* text = std::get_if<std::string>(&value)) return KeyValue(*text);
      break;
  }
  return std::nullopt;
}

Status ApplyValue(const Key& key, const TomlEntry& entry, const Source& source, RunConfig& config) {
  const std::optional<KeyValue> value = Convert(entry.value, key.type);
  if (!value) {
    if (const auto* number = std::get_if<int64_t>(&entry.value); number && *number < 0) {
      if (key.type == KeyType::kInteger) {
        return InvalidArgumentError("{} = {} is out of range {}{}", key.full_name, *number,
                                    key.RangeText(), source.AtValue(entry));
      }
    }
    const std::string range = key.RangeText();
    return InvalidArgumentError("{} must be {}{}{}, not {}{}", key.full_name, key.TypeName(),
                                range.empty() ? "" : ", ", range, TomlTypeName(entry.value),
                                source.AtValue(entry));
  }
  if (const Status status = key.CheckRange(*value); !status.ok()) {
    return InvalidArgumentError("{}{}", status.message(), source.AtValue(entry));
  }
  key.set(*value, config);
  return OkStatus();
}

Status ApplyEntry(const TomlEntry& entry, const Source& source, RunConfig& config) {
  const bool is_section = std::holds_alternative<TomlSection>(entry.value);
  if (IsSection(entry.key)) {
    if (is_section) return OkStatus();
    return InvalidArgumentError("{} is a section{}; write [{}] and its keys below", entry.key,
                                source.AtKey(entry), entry.key);
  }
  if (const Key* key = FindKey(entry.key)) return ApplyValue(*key, entry, source, config);
  return is_section ? UnknownSection(entry, source) : UnknownKey(entry, source);
}

constexpr std::string_view kPresetKey = "model.preset";

/// All entries in their order, but a preset gives way to every other key.
template <typename SourceOf>
Status ApplyEntries(const std::vector<TomlEntry>& entries, const SourceOf& source_of,
                    RunConfig& config) {
  for (size_t i = 0; i < entries.size(); ++i) {
    // What is wrong with it is said below, in its turn.
    if (entries[i].key == kPresetKey) (void)ApplyEntry(entries[i], source_of(i), config);
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    RunConfig scratch;
    RunConfig& target = entries[i].key == kPresetKey ? scratch : config;
    INTERLUDE_RETURN_IF_ERROR(ApplyEntry(entries[i], source_of(i), target));
  }
  return OkStatus();
}

/// The place of the last entry that sets one of the two keys; without one, the source alone.
std::string AtEither(const std::vector<TomlEntry>& entries, const Source& source,
                     std::string_view a, std::string_view b) {
  std::string at = source.At(0, 0);
  for (const TomlEntry& entry : entries) {
    if (entry.key == a || entry.key == b) at = source.AtValue(entry);
  }
  return at;
}

/// InvalidArgument when values, each in its range, do not fit together.
Status CheckTogether(const RunConfig& config, const std::vector<TomlEntry>& entries,
                     const Source& source) {
  const auto require_multiple = [&](std::string_view name, uint64_t value,
                                    std::string_view divisor_name, uint64_t divisor) {
    if (value % divisor == 0) return OkStatus();
    return InvalidArgumentError("{} = {} is not a multiple of {} = {}{}", name, value, divisor_name,
                                divisor, AtEither(entries, source, name, divisor_name));
  };
  const ModelConfig& model = config.model;
  if (model.kind == ModelKind::kVit) {
    INTERLUDE_RETURN_IF_ERROR(
        require_multiple("model.hidden_size", model.hidden_size, "model.heads", model.heads));
    INTERLUDE_RETURN_IF_ERROR(require_multiple("model.image_size", model.image_size,
                                               "model.patch_size", model.patch_size));
  }
  const auto require_name = [&](std::string_view name, const std::string& value, ModelKind kind,
                                std::string_view kind_name) {
    if (value.empty() != (model.kind == kind)) return OkStatus();
    return InvalidArgumentError("model.kind = \"{}\" and {} belong together: give both or none{}",
                                kind_name, name, AtEither(entries, source, name, "model.kind"));
  };
  INTERLUDE_RETURN_IF_ERROR(
      require_name("model.file", model.file, ModelKind::kTorchScript, "torchscript"));
  INTERLUDE_RETURN_IF_ERROR(
      require_name("model.module", model.module, ModelKind::kModule, "module"));
  if (model.kind != ModelKind::kVit && !model.pretrained.empty()) {
    return InvalidArgumentError("model.pretrained is for model.kind = \"vit\" alone{}",
                                AtEither(entries, source, "model.pretrained", "model.kind"));
  }
  if (config.train.accumulate > config.train.batch) {
    return InvalidArgumentError("train.accumulate = {} parts of train.batch = {} samples{}",
                                config.train.accumulate, config.train.batch,
                                AtEither(entries, source, "train.accumulate", "train.batch"));
  }
  const auto require_order = [&](std::string_view low_name, double low, std::string_view high_name,
                                 double high) {
    if (low <= high) return OkStatus();
    return InvalidArgumentError("{} = {} is more than {} = {}{}", low_name, low, high_name, high,
                                AtEither(entries, source, low_name, high_name));
  };
  const AugmentConfig& augment = config.augment;
  INTERLUDE_RETURN_IF_ERROR(require_order("augment.scale_min", augment.scale_min,
                                          "augment.scale_max", augment.scale_max));
  INTERLUDE_RETURN_IF_ERROR(require_order("augment.ratio_min", augment.ratio_min,
                                          "augment.ratio_max", augment.ratio_max));
  if (augment.eval_crop > 0 && augment.eval_crop < 0.25) {
    return InvalidArgumentError(
        "augment.eval_crop = {} shows too little; write 0 (by the data set) or at least 0.25{}",
        augment.eval_crop, AtEither(entries, source, "augment.eval_crop", "augment.eval_crop"));
  }
  const double bound = config.outer.norm_bound;
  if (bound > 0 && bound < 1) {
    return InvalidArgumentError(
        "outer.norm_bound = {} would shorten the median delta too{}; write 0 (off) or at least 1",
        bound, AtEither(entries, source, "outer.norm_bound", "outer.norm_bound"));
  }
  return require_multiple("round.chunk_params", config.round.chunk_params, "the block size", 64);
}

/// "round.codec=fp32" as an entry. Where the key holds a string the quotes may be left out.
StatusOr<TomlEntry> ReadSetting(const std::string& setting) {
  const auto trim = [](std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return std::string_view();
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
  };
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) {
    return InvalidArgumentError("setting '{}' has no '='; write KEY=VALUE, as round.codec=fp32",
                                setting);
  }
  const std::string_view value = trim(std::string_view(setting).substr(equals + 1));
  TomlEntry entry{.key = std::string(trim(std::string_view(setting).substr(0, equals))),
                  .value = std::string(value)};
  const Key* key = FindKey(entry.key);
  const bool holds_string =
      key != nullptr && (key->type == KeyType::kText || key->type == KeyType::kChoice);
  const bool is_bare = holds_string && !value.starts_with('"') && !value.starts_with('\'');
  const std::string literal = is_bare ? KeyValueText(std::string(value)) : std::string(value);
  const auto parsed = ReadTomlText(fmt::format("value = {}", literal), setting);
  if (parsed.ok() && parsed->size() == 1) {
    entry.value = parsed->front().value;
  } else if (holds_string) {
    // It could not be written into the description that workers are given.
    return InvalidArgumentError(
        "setting '{}': the value is no text in UTF-8, or its quotes do not match", setting);
  }
  return entry;
}

}  // namespace

StatusOr<RunConfig> ParseRunConfig(std::string_view toml_text, std::string_view source) {
  INTERLUDE_ASSIGN_OR_RETURN(const std::vector<TomlEntry> entries, ReadTomlText(toml_text, source));
  RunConfig config;
  const Source place{.name = source};
  INTERLUDE_RETURN_IF_ERROR(ApplyEntries(
      entries, [&](size_t) -> const Source& { return place; }, config));
  INTERLUDE_RETURN_IF_ERROR(CheckTogether(config, entries, place));
  return config;
}

Status ApplySettings(const std::vector<std::string>& settings, RunConfig& config) {
  RunConfig changed = config;
  std::vector<TomlEntry> entries;
  for (const std::string& setting : settings) {
    INTERLUDE_ASSIGN_OR_RETURN(entries.emplace_back(), ReadSetting(setting));
  }
  std::string name;
  const auto source_of = [&](size_t i) {
    name = fmt::format("setting '{}'", settings[i]);
    return Source{.name = name, .has_lines = false};
  };
  INTERLUDE_RETURN_IF_ERROR(ApplyEntries(entries, source_of, changed));
  const std::string all = fmt::format("settings {}", fmt::join(settings, " "));
  INTERLUDE_RETURN_IF_ERROR(CheckTogether(changed, {}, Source{.name = all, .has_lines = false}));
  config = changed;
  return OkStatus();
}

std::string FormatRunConfig(const RunConfig& config) {
  std::string text = "# A run of interlude. Keys that are left out have their defaults.\n\n";
  std::string_view section;
  for (const Key& key : AllKeys()) {
    if (key.section() != section) {
      section = key.section();
      text += fmt::format("\n[{}]\n", section);
    }
    const std::string range = key.RangeText();
    text += fmt::format("# {}{}{}{}\n{} = {}\n", key.comment, range.empty() ? "" : " (", range,
                        range.empty() ? "" : ")", key.name(), KeyValueText(key.get(config)));
  }
  return text;
}

}  // namespace interlude
