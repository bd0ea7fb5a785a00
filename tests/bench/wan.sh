#!/usr/bin/env bash
# wan: what a worker's link carries, and how long it takes.
#
#   tests/bench/wan.sh [--rates "10 25 50 100 200"] [--delay-ms 0] [--workers 1] [--codec f32] [--down-codec f32]
#                      [--rounds 2] [--inner-steps 1] [--model "--layers 6 --heads 6 --width 384 --block 64"] [--plain 3]
#
# Needs root: hosts in network namespaces (tests/cluster/world.bash), a token bucket on each link, both ways, and a
# cable of our own with a delay. For each rate one cluster: shepherd, compiler and aggregator on one host, workers on
# others; rounds of one step, or more. Printed for each round (the slowest worker's figures): seconds down and up, the ideal
# (bytes of the parameters or of their encoded change, and of the encoded update, at that rate and nothing else), their ratio; payload and bytes on
# the link (with the headers of TCP and below) over what is needed (up in the last round: with the moments, for the
# checkpoint); and how even the workers' shares were (Jain's index
# of their download rates). `busy` is the share of the time from the first byte down to the last one up in which workers train. `gap` is what passes from the
# last step of the lease before to the first of this one: the update's way up, the parameters' way down and all else; its ideal, the longer
# of the two ways. With --core RATE the aggregator's link has that rate, for its workers together. With --delay-ms
# TCP's buffers may grow to 128 MiB, as a machine at such a link wants it (docs/operations.md). --plain N: as many bytes as the parameters go down by one plain TCP connection first, N times one after
# the other: seconds and Mbit/s of each.
set -euo pipefail
cd "$(dirname "$0")/../.."
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
rates='10 25 50 100 200' delay=0 workers=1 codec=f32 down_codec=f32 rounds=2 steps=1 core_rate='' plain=0
model=(--layers 6 --heads 6 --width 384 --block 64)
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit ;;
    --rates) rates=$2 ;;
    --delay-ms) delay=$2 ;;
    --workers) workers=$2 ;;
    --codec) codec=$2 ;;
    --down-codec) down_codec=$2 ;;
    --rounds) rounds=$2 ;;
    --inner-steps) steps=$2 ;;
    --core) core_rate=$2 ;;
    --plain) plain=$2 ;;
    --model) read -r -a model <<<"$2" ;;
    *) usage >&2; exit 2 ;;
    esac
    shift 2
done
set +e
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
. tests/cluster/world.bash
world_needs "links with rates"
"$bin/pcp" model gpt2 "${model[@]}" --vocab 256 --batch 1 >"$work/model.mlir" || exit 1
head -c 20000 docs/glossary.md >"$work/text.txt"
host core node "$delay"
[ -z "$core_rate" ] || rate core "${core_rate}mbit"
for ((w = 0; w < workers; w++)); do host "edge$w"; done
for one in "${!address[@]}"; do [ "$delay" -eq 0 ] || long_buffers "$one"; done

counted() { # bytes that a host has received and sent
    on "$1" cat /proc/net/dev | awk -F: '/eth0/ { split($2, n, " "); print n[1], n[9] }'
}
parameters=0
run() { # RATE
    local mbit=$1 w before after all_before=(0 0) all_after=(0 0)
    cluster "$work/r$mbit" "tcp://${address[core]}:7000"
    prepare --inner-steps "$steps" --rounds "$rounds" --workers "$workers" --codec "$codec" \
        --down-codec "$down_codec" --validate-every 0 || return 1
    parameters=$(stat -c %s "$dir/init.safetensors")
    [ "$plain" -eq 0 ] || plain_tcp "$mbit"
    on core shepherd --bind tcp://0.0.0.0:7000 --workers "$workers" --timeout-ms 60000 --keep-state memory
    on core aggregator a0 --bind "tcp://${address[core]}:7100"
    on core compiler c0
    for ((w = 0; w < workers; w++)); do
        rate "edge$w" "${mbit}mbit"
        read -r -a before < <(counted "edge$w")
        all_before=($((all_before[0] + before[0])) $((all_before[1] + before[1])))
        on "edge$w" serve "w$w" worker --shepherd "$control" --id "w$w" --cache-dir "$dir/cache$w" --threads 1
    done
    ends 0 || return 1
    for ((w = 0; w < workers; w++)); do
        read -r -a after < <(counted "edge$w")
        all_after=($((all_after[0] + after[0])) $((all_after[1] + after[1])))
    done
    report "$mbit" $((all_after[0] - all_before[0])) $((all_after[1] - all_before[1]))
    dismiss
}

plain_tcp() { # RATE
    rate edge0 "${1}mbit"
    on core launch plain "$bin/plain-tcp" --serve "${address[core]}" --bytes "$parameters"
    eventually 10 on core sh -c "grep -qi :1F3F /proc/net/tcp"
    echo "$1 Mbit/s, plain TCP, s and Mbit/s: $(on edge0 "$bin/plain-tcp" --fetch "${address[core]}" --bytes "$parameters" --times "$plain" | paste -sd' ')"
    slay KILL plain
}

report() { # RATE BYTES_DOWN BYTES_UP
    local shared=$1
    if [ -n "$core_rate" ] && [ $((core_rate / workers)) -lt "$1" ]; then shared=$((core_rate / workers)); fi
    cat "$dir"/w*.log | grep -hE 'event=(handed_in|lease_done)' | tr ' ' '\n' | awk -F= -v rate="$1" -v shared="$shared" \
        -v parameters="$parameters" -v codec="$codec" -v down_codec="$down_codec" -v down_bytes="$2" -v up_bytes="$3" -v workers="$workers" \
        -v rounds="$rounds" '
        function share(codec) { return codec == "int8" ? 1 / 4 : codec == "bf16" ? 1 / 2 : codec == "e3m0" ? 1 / 8 : 1 }
        $1 == "time" { split(substr($2, 12), t, ":"); now = t[1] * 3600 + t[2] * 60 + t[3] }
        $1 == "hand_in_s" { handed = $2 }
        $1 == "round" { r = $2; n[r]++; done[r] = now; hand_in[r] = handed }
        $1 == "download_s" { if ($2 > down[r]) down[r] = $2; sum[r] += 1 / $2; squares[r] += 1 / $2 / $2 }
        $1 == "upload_s" && $2 > up[r] { up[r] = $2 }
        $1 == "compute_s" && $2 > compute[r] { compute[r] = $2 }
        $1 == "received_bytes" { got[r] += $2 }
        $1 == "sent_bytes" { sent[r] += $2 }
        END {
            encoded = parameters * share(codec)
            for (r = 0; r < rounds; r++) {
                needed = encoded + (r == rounds - 1 ? 2 * parameters : 0)
                want = parameters * (r > 0 ? share(down_codec) : 1)
                ideal_down = want * 8 / shared / 1e6
                wanted += want
                ideal_up = needed * 8 / shared / 1e6
                printf "%6d %5d %9.2f %9.2f %6.2f %9.2f %9.2f %6.2f %8.3f %8.3f", rate, r + 1, down[r], ideal_down,
                    down[r] / ideal_down, up[r], ideal_up, up[r] / ideal_up, got[r] / n[r] / want,
                    sent[r] / n[r] / needed
                printf " %5.1f", 100 * compute[r] / (compute[r] + down[r] + up[r])
                gap = done[r] - hand_in[r] - compute[r] - (done[r - 1] - hand_in[r - 1])
                if (r == 0) printf " %7s %6s", "", ""
                else printf " %7.2f %6.2f", (gap < 0 ? gap + 86400 : gap), (ideal_down > last_up ? ideal_down : last_up)
                last_up = ideal_up
                if (r == rounds - 1)
                    printf " %8.3f %8.3f", down_bytes / workers / wanted,
                        up_bytes / workers / (rounds * encoded + 2 * parameters)
                if (workers > 1) printf "  %.3f", sum[r] * sum[r] / n[r] / squares[r]
                print ""
            }
        }'
}

printf '%6s %5s %9s %9s %6s %9s %9s %6s %8s %8s %5s %7s %6s %8s %8s  %s\n' Mbit/s round 'down s' ideal ratio 'up s' ideal ratio \
    'got/need' 'sent/' 'busy%' 'gap s' ideal 'link dn' 'link up' even
for mbit in $rates; do run "$mbit" || { echo "wan: the run over $mbit Mbit/s failed; see above" >&2; exit 1; }; done
world_end
