# shellcheck shell=bash
# Tests of Vulkan: what they need, or their end here, and the validation layer, which listens. Source it behind tap.bash.
# shellcheck disable=SC2154 # of the test that sources this file

if ! "$bin/pcp" devices | grep -q '^vulkan:0 '; then
    skip "vulkan" "no Vulkan driver here (mesa-vulkan-drivers has lavapipe)"
    tap_done
    exit
fi
if ! command -v glslc >/dev/null || ! command -v spirv-val >/dev/null; then
    skip "vulkan" "needs glslc and spirv-val (scripts/setup)"
    tap_done
    exit
fi

# The compiler of shaders, and a judge of what it made, where the layer is not: that has the same rules inside, and twice
# takes a third of the test's time.
cat >"$work/glslc" <<'EOF'
#!/bin/sh
glslc "$@" || exit
[ "$PCP_VULKAN_VALIDATE" != 1 ] || [ -n "$PCP_LONG" ] || exit 0
for file; do
    case $file in *.comp) spirv-val --target-env vulkan1.1 "$file.spv" || exit ;; esac
done
EOF
chmod +x "$work/glslc"
export PCP_GLSLC=$work/glslc XDG_CACHE_HOME=$work/cache
layers=$(find /usr/share/vulkan /usr/local/share/vulkan /etc/vulkan -name 'VkLayer_khronos_validation*' 2>/dev/null)
if [ -n "$layers" ]; then export PCP_VULKAN_VALIDATE=1; else skip "the validation layer" "vulkan-validationlayers is not installed"; fi
