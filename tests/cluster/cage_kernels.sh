#!/usr/bin/env bash
# Kernels that fill disk and memory: the compiler of one run puts such code into every kernel of its plans. Each first call
# makes files wherever it can, in memory too, makes those larger that are open, writes what it is told to write to
# without end, and takes and touches memory until there is no more. All of that is refused and counted; the run ends with its
# usual bits, and so does one that trains beside it on the same machine.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
for tool in nm objcopy curl; do
    command -v $tool >"$work/which" || { skip "kernels that fill disk and memory" "no $tool"; tap_done; exit; }
done
gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" 2>"$work/noise" || exit 1
mkdir "$work/disk"
cat >"$work/hostile.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void told(const char *what, int done, long bytes)
{
    dprintf(2, "hostile %s=%s mib=%ld\n", what, done ? "done" : "refused", bytes >> 20);
}
static long fill(int fd)
{
    static char block[1 << 20];
    long bytes = 0, n;
    while (bytes < 64L << 20 && (n = write(fd, block, sizeof block)) > 0) bytes += n;
    return bytes;
}
static void fill_disk(void)
{
    const char *const places[] = {PLACE, "/tmp", "/var/tmp", "/dev/shm", "."};
    char path[4096];
    long bytes = 0;
    int made = 0;
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/pcp-spoiled", places[i]);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd >= 0) made++, bytes += fill(fd);
    }
    told("file", made, bytes);
    int fd = memfd_create("spoiled", 0);
    told("memfile", fd >= 0, fd >= 0 ? fill(fd) : 0);
    int grown = 0;
    for (fd = 0; fd < 64; fd++) grown += ftruncate(fd, 1L << 30) == 0;
    told("grow", grown, 0);
}
static void fill_memory(void)
{
    long bytes = 0;
    char *at;
    while (bytes < 4L << 30 && (at = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED) {
        memset(at, 1, 1 << 20);
        bytes += 1 << 20;
    }
    told("memory", bytes >= 4L << 30, bytes);
}
void attack(void)
{
    static int begun;
    if (__atomic_exchange_n(&begun, 1, __ATOMIC_SEQ_CST)) return;
    fill_disk();
    fill_memory();
    told("log", 0, fill(2)); /* whoever reads it does so when the runner has ended */
}
C
# The linker's part: each kernel gets another name, and a function in its place that attacks before it.
cat >"$work/cc" <<C
#!/bin/bash
[[ " \$* " = *" -shared "* ]] || exec gcc "\$@"
stub=\$(mktemp -d) objects=()
cp "$work/hostile.c" "\$stub/h.c"
for word; do [[ \$word != *.o ]] || objects+=("\$word"); done
for name in \$(nm -g --defined-only "\${objects[@]}" | awk '\$2 == "T" { print \$3 }' | sort -u); do
    echo "\$name honest_\$name" >>"\$stub/names"
    echo "void honest_\$name(char *, const long *, long, long);
        void \$name(char *a, const long *b, long c, long d) { attack(); honest_\$name(a, b, c, d); }" >>"\$stub/h.c"
done
for one in "\${objects[@]}"; do objcopy --redefine-syms="\$stub/names" "\$one" || exit 1; done
gcc -O1 -fPIC -w -D_GNU_SOURCE -DPLACE='"$work/disk"' "\$@" "\$stub/h.c"
status=\$?
rm -r "\$stub"
exit \$status
C
chmod +x "$work/cc"

# train NAME FLAGS: a run of one worker. Both have the same name, and so the same bits.
train() {
    cluster "$work/$1"
    prepare --replicas 2 --inner-steps 50 --rounds 3 --val-fraction 0 || return 1
    sed -i 's/"run": "[^"]*"/"run": "same"/' "$dir/run.json"
    shepherd --workers 1 "${@:2}"
    aggregator a0
}
# aside NAME...: these services go on under other names, and their logs where they are
aside() {
    local one
    for one; do
        pid[bad_$one]=${pid[$one]}
        unset "pid[$one]"
    done
}
said() { grep -qE "hostile $1=refused" "$work/bad/w0.log"; }
ended() { # NAME: that service, by itself, well
    local status=0
    eventually 600 not_running "${pid[$1]}" || return 1
    wait "${pid[$1]}" || status=$?
    unset "pid[$1]"
    return $status
}
same_bits_as_peace() { cmp "$work/peace/checkpoint/latest/model.safetensors" "$work/$1/checkpoint/latest/model.safetensors"; }

train peace
compiler c0
worker w0
check "a run in peace ends" ends 0
runners=$(sed -n 's/.*event=cage .*calls=1 .*runners=\([0-9]*\).*/\1/p' "$dir/w0.log")
dismiss
if [ "$runners" != 1 ]; then
    skip "kernels that fill disk and memory" "no seccomp, or a sanitizer"
    tap_done
    exit
fi

train bad --events "ipc://$work/bad/events"
serve metrics metrics --events "ipc://$work/bad/events" --http 127.0.0.1:0
PCP_CC=$work/cc serve c0 compiler --shepherd "$control" --id c0 --cache-dir "$work/bad/plans"
check "metrics are served" eventually 30 event metrics 'event=listening'
http=$(sed -n 's/.*event=listening port=\([0-9]*\).*/\1/p' "$dir/metrics.log" | head -n 1)
counted() {
    curl -s --max-time 20 "http://127.0.0.1:$http/metrics" >"$work/metrics" &&
        grep -E '^pcp_cage_refusals_total\{run="same",worker="w0"\} [1-9]' "$work/metrics"
}
worker w0
check "its kernels run" eventually 120 event w0 'event=step|event=lease_done'
aside shepherd a0 c0 w0
train beside
compiler c0
worker w0
check "what they asked for is counted" eventually 60 counted
grep '^pcp_cage_refusals_total' "$work/metrics" | sed 's/^/# /'
check "the run beside it ends" ends 0
check "with the bits of peace" same_bits_as_peace beside
check "so does the run of hostile kernels" ended bad_shepherd
check "with the same bits" same_bits_as_peace bad
kill "${pid[bad_w0]}"
check "its worker leaves" ended bad_w0
for what in file memfile grow memory; do check "$what: refused" said $what; done
grep -oE 'hostile [a-z]+=[a-z]+ mib=[0-9]+' "$work/bad/w0.log" | sort -u | sed 's/^/# /'
check "the worker says so, and by whom" grep -qE 'event=cage_refused .*plan=[0-9a-f]+ signer=.* calls=[0-9]+' "$work/bad/w0.log"
check "memory among them" grep -qE 'event=cage_refused .*last=mmap' "$work/bad/w0.log"
spoiled() { find "$work" /tmp /var/tmp /dev/shm . -maxdepth 2 -name pcp-spoiled 2>>"$work/noise" | grep .; }
check "nothing was written" eval '! spoiled'
check "what they told is not in the log without end" test "$(stat -c %s "$work/bad/w0.log")" -lt 1000000
dismiss
check "nothing is left running" no_orphans
tap_done
