#!/usr/bin/env bash
# bench-gpu: steps of GPT-2 124M (16 x 1024 tokens) and of two small models in bf16, ours on a GPU beside PyTorch's on it, eager
# and by torch.compile. See `scripts/bench peers --help`, whose flags are taken: --device vulkan, --precision f32,
# --python FILE. Letters choose models: f c d.
set -euo pipefail
cd "$(dirname "$0")/../.."

models=() flags=()
for word; do
    case $word in
    [a-f]) models+=("$word") ;;
    *) flags+=("$word") ;;
    esac
done
[ ${#models[@]} -gt 0 ] || models=(f c d)
make -s -j2 build/bin/bench-peers
for how in false true; do
    echo "# PyTorch $([ "$how" = true ] && echo "by torch.compile" || echo eager)"
    build/bin/bench-peers "${models[@]}" --device cuda --peer cuda --precision bf16 --peer-compiles=$how \
        ${flags[@]+"${flags[@]}"}
done
