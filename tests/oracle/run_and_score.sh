#!/usr/bin/env bash
# Trains a small ViT for two rounds and lets PyTorch score the model that was saved.
# Usage: run_and_score.sh PATH_OF_INTERLUDE
set -euo pipefail
here="$(dirname "$(readlink -f "$0")")"
directory="$(mktemp -d)"
trap 'rm -rf "${directory}"' EXIT
"$1" run --workers 2 --config "${here}/../../examples/fashion_mnist.toml" --dir "${directory}/run" \
  --set round.rounds=2 --set round.local_steps=10 --set data.train_limit=4000 --set data.test_limit=1000 \
  --set round.evaluate_every=0 --set train.warmup_steps=2
/usr/bin/python3 "${here}/score_vit.py" "${directory}/run" \
  "$(sed -n 's/^heads *= *\([0-9]*\).*/\1/p' "${here}/../../examples/fashion_mnist.toml")" 1000 "$1"
