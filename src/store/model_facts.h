// Keys of what a run writes into a model's safetensors file beside its values; all texts.
#pragma once

namespace interlude {

inline constexpr char kModelRunId[] = "interlude.run_id";
inline constexpr char kModelRounds[] = "interlude.rounds";  // after which it stands, decimal
inline constexpr char kModelRootHash[] = "interlude.root_hash";
inline constexpr char kModelConfig[] = "interlude.config";    // the run's whole TOML
inline constexpr char kModelClasses[] = "interlude.classes";  // JSON array of names, by label
inline constexpr char kModelNormalization[] =
    "interlude.normalization";  // JSON: {"mean": [...], "deviation": [...]}, of pixel / 255
inline constexpr char kModelAccuracy[] = "interlude.accuracy";   // on the test set, 0 to 1
inline constexpr char kModelEmaDecay[] = "interlude.ema_decay";  // where it is a moving average

}  // namespace interlude
