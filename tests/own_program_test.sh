#!/usr/bin/env bash
# Installs interlude, builds examples/own_model against what was installed, outside of the tree, and trains with it.
# Usage: own_program_test.sh SOURCE_DIR BUILD_DIR WORK_DIR GENERATOR TORCH_DIR
set -euo pipefail

source_dir="$1" build_dir="$2" work="$3" generator="$4" torch_dir="$5"
# The example's object file stays from run to run; nothing else does.
rm -rf "${work}/prefix" "${work}/run" "${work}/example"
mkdir -p "${work}"

cmake --install "${build_dir}" --prefix "${work}/prefix" >"${work}/install.log"
cp -r "${source_dir}/examples/own_model" "${work}/example"
cmake -S "${work}/example" -B "${work}/build" -G "${generator}" \
  -DCMAKE_PREFIX_PATH="${work}/prefix" -DTorch_DIR="${torch_dir}"
cmake --build "${work}/build"

interlude="${work}/prefix/bin/interlude"
"${interlude}" run --workers 2 --worker-program "${work}/build/own-worker" --config "${work}/example/run.toml" \
  --dir "${work}/run" --quiet --set round.rounds=2 --set round.local_steps=20 --set data.train_limit=4000 \
  --set data.test_limit=1000
"${interlude}" report "${work}/run" --json "${work}/report.json" || "${interlude}" report "${work}/run"
"${work}/build/own-worker" evaluate "${work}/run/model.safetensors"

echo "-- interlude-worker has no such model, and says so"
if "${interlude}" evaluate "${work}/run/model.safetensors" 2>"${work}/refusal"; then exit 1; fi
grep -F 'model.module = "net" is not registered in this program' "${work}/refusal"
