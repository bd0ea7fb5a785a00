#!/usr/bin/env bash
# serve: streams of a gateway, many at once beside one alone.
#
#   tests/bench/serve.sh [STREAMS [TOKENS [BATCH [MODEL FLAGS]]]]    (default 200 100 32 "--layers 4 --heads 4 --width 128 --block 256")
#
# A gateway serves a model that was hardly trained, by one process on this machine; the clients are one more. Printed:
# one stream alone, then all at once: how many were lost, time to the first token and to the end, tokens a second.
# Exit status 1: some were lost.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1:-} in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit ;; esac
streams=${1:-200} tokens=${2:-100} batch=${3:-32} bin=${PCP_BIN:-build/bin}
read -ra model <<<"${4:---layers 4 --heads 4 --width 128 --block 256}"
work=$(mktemp -d "${TMPDIR:-/tmp}/pcp-bench.XXXXXX") pid=
trap '[ -z "$pid" ] || { kill "$pid"; wait "$pid"; } 2>/dev/null; rm -rf "$work"' EXIT

"$bin/pcp" model gpt2 "${model[@]}" --vocab 256 --batch 4 >"$work/gpt.mlir" 2>/dev/null
cat README.md docs/*.md >"$work/text"
"$bin/pcp" train "$work/gpt.mlir" --data "$work/text" --tokenizer byte --workers 1 --rounds 1 --inner-steps 2 \
    --run-dir "$work/run" >/dev/null 2>"$work/train" || { cat "$work/train" >&2; exit 1; }
"$bin/pcp-gateway" --model m="$work/run" --http 127.0.0.1:0 --batch "$batch" --queue "$streams" 2>"$work/log" &
pid=$!
for _ in {1..600}; do
    ! grep -q event=ready "$work/log" || break
    sleep 0.1
done
port=$(sed -n 's/.*event=ready .*port=\([0-9]*\).*/\1/p' "$work/log")
[ -n "$port" ] || { tail -n 3 "$work/log" >&2; exit 1; }
"$bin/bench-serve" "$port" m 1 "$tokens"
"$bin/bench-serve" "$port" m "$streams" "$tokens"
