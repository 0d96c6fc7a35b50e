// The table of every key of a run's description: section, name, comment, type, range, and where its
// value lives in RunConfig. Reading, writing, suggestions and documentation all come from it.
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "config/run_config.h"

namespace interlude {

/// What a key can hold. Choices (enums) appear as their names.
using KeyValue = std::variant<uint64_t, double, bool, std::string>;

enum class KeyType { kInteger, kNumber, kBoolean, kChoice, kText };

struct Key {
  std::string_view full_name;  // "round.codec", or "seed" outside every section
  std::string_view comment;
  KeyType type = KeyType::kText;
  // integer
  uint64_t least = 0;
  uint64_t most = 0;
  // number
  double low = 0;
  double high = 0;
  bool high_excluded = false;
  // text
  bool may_be_empty = false;
  // choice
  std::vector<std::string_view> choices;

  std::function<KeyValue(const RunConfig&)> get;
  /// The value must be of the key's type and pass CheckRange.
  std::function<void(const KeyValue&, RunConfig&)> set;

  /// "round"; empty for a key outside every section.
  std::string_view section() const;
  /// "codec"
  std::string_view name() const;
  /// "an integer", "a number", "true or false", "a string".
  std::string_view TypeName() const;
  /// "0 to 100", `"q4" or "fp32"`; empty for text and booleans.
  std::string RangeText() const;
  /// InvalidArgument that names key, value, and range ("round.local_steps = 0 is out of range 1 to
  /// 1000000").
  Status CheckRange(const KeyValue& value) const;
};

/// All keys; those of one section stand together, those outside every section first.
std::span<const Key> AllKeys();

/// Nothing when there is no such key.
const Key* FindKey(std::string_view full_name);

/// The sections' names in the order of AllKeys.
std::span<const std::string_view> AllSections();

/// The value as TOML: strings quoted and escaped, numbers in the fewest digits that read back
/// equal.
std::string KeyValueText(const KeyValue& value);

}  // namespace interlude
