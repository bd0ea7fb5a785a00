#!/usr/bin/env bash
# DiLoCo on unequal devices (unequal.bash): the processor and this machine's Vulkan device.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/unequal.bash

if ! "$bin/pcp" devices | grep -q '^vulkan:0 ' || ! command -v glslc >/dev/null; then
    skip "vulkan workers" "no Vulkan driver here, or no glslc (scripts/setup)"
    tap_done
    exit
fi
export XDG_CACHE_HOME=$work/cache
gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 256 --batch 8 >"$work/model.mlir"
unequal_devices Vulkan vulkan --target vulkan:spirv1.3-f64
check "nothing is left running" no_orphans
tap_done
