#!/usr/bin/env bash
# A plan with code of somebody else's: each shared object that the compiler makes has a constructor that reads
# /etc/passwd and a key, writes files, forks, runs a program, opens sockets, looks into its parent and signals it, takes memory
# without end, and says how that went. In a runner all of it fails and is counted, and the run ends with the bits of
# one without; --cage off is how it was. Then runners that crash and hang: the worker goes on.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
. tests/cluster/cluster.bash
gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 256 --batch 2 >"$work/model.mlir" || exit 1
cat >"$work/hostile.c" <<'C'
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static void told(const char *what, long rc)
{
    fprintf(stderr, "hostile %s=%s\n", what, rc < 0 ? "refused" : "done");
}
__attribute__((constructor)) static void attack(void)
{
    char *const argv[] = {"/bin/true", NULL};
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    told("fork", pid);
    if (pid > 0) waitpid(pid, NULL, 0);
    told("read", open("/etc/passwd", O_RDONLY));
    told("write", open(PLACE "/spoiled", O_WRONLY | O_CREAT, 0600));
    told("key", open(PLACE "/key", O_RDONLY));
    told("environment", open("/proc/self/environ", O_RDONLY));
    told("socket", socket(AF_PACKET, SOCK_RAW, 0));
    told("connection", socket(AF_INET, SOCK_STREAM, 0));
    long n = 0;
    while (n < 65536 && mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) n++;
    told("memory", n < 65536 ? -1 : 0);
    struct iovec at = {&pid, sizeof pid};
    told("peek", process_vm_readv(getppid(), &at, 1, &at, 1, 0));
    told("signal", kill(getppid(), 0));
    if (pid < 0) told("exec", execv(argv[0], argv));
}
C
cat >"$work/cc" <<C
#!/bin/sh
for word; do [ "\$word" = -shared ] && exec gcc -fPIC -D_GNU_SOURCE -DPLACE='"$work"' "\$@" "$work/hostile.c"; done
exec gcc "\$@"
C
chmod +x "$work/cc"
# train NAME
train() {
    cluster "$work/$1"
    prepare --replicas 2 --inner-steps 200 --rounds 3 --val-fraction 0 || return 1
    sed -i 's/"run": "[^"]*"/"run": "same"/' "$dir/run.json"
    shepherd --workers 1
    aggregator a0
    rm -rf "$work/plans" # the compiler's: it knows nothing of PCP_CC
}
# What the code says is told when its runner ends.
said() { event w0 "hostile $1=$2"; }
# runner OF: its process; empty: it has none now
runner() {
    local keeper
    keeper=$(pgrep -P "${pid[$1]}" -x pcp-runners) && pgrep -P "$keeper" -x pcp-runner | head -1
}
has_runner() { [ -n "$(runner "$1")" ]; }
same_bits() { cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"; }
echo secret >"$work/key"

train calm
compiler c0
worker w0
check "a run of plain plans ends" ends 0
check "its worker is caged" event w0 'event=cage .*calls='
calls=$(sed -n 's/.*event=cage .*calls=\([0-9]*\) paths=.*/\1/p' "$dir/w0.log")
runners=$(sed -n 's/.*event=cage .*runners=\([0-9]*\).*/\1/p' "$dir/w0.log")
dismiss
check "whose code asked for nothing that is refused" eval '! event w0 event=cage_refused'

export PCP_CC=$work/cc
train caged
compiler c0
worker w0
check "a run of hostile plans ends" ends 0
kill "${pid[w0]}"
check "its worker leaves" leaves w0
dismiss
if [ "$calls$runners" = 11 ]; then
    for what in fork exec read write key environment socket connection memory peek signal; do
        check "$what is refused" said $what refused
    done
    check "nothing was written" test ! -e "$work/spoiled"
    check "who refused what is told" event w0 'event=cage_refused .*plan=[0-9a-f]+ signer=.* calls=[0-9]+ last=[a-z]'
else
    skip "calls are refused" "no seccomp, or a sanitizer"
fi
check "with the bits of plain plans" same_bits

train free
compiler c0
worker w0 --cage off
check "without a cage the run ends" ends 0
check "its log says that there is none" event w0 'event=cage .*runners=0 why="--cage off"'
check "and the plan could read" said read "done"
check "and write" said write "done"
dismiss
unset PCP_CC

if [ "$runners" = 1 ]; then
    # AddressSanitizer would report the signal that this sends, and end the runner with a status of its own.
    export ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0
    train crash
    compiler c0
    worker w0
    check "a runner computes" eventually 300 has_runner w0
    kill -SEGV "$(runner w0)"
    check "it crashes, the run goes on" ends 0
    check "whose worker says so" event w0 'crashed with signal 11'
    check "to the same bits" same_bits
    check "by the same process" event w0 'event=lease_done.*round=2'
    first=$(runner w0)
    keeper=$(pgrep -P "${pid[w0]}" -x pcp-runners)
    kill -KILL "${pid[w0]}"
    wait "${pid[w0]}" 2>>"$work/noise"
    check "a worker that is killed takes its runner along" eventually 20 not_running "$keeper"
    [ -z "$first" ] || check "and the code in it" eventually 20 not_running "$first"
    unset 'pid[w0]'
    dismiss
else
    skip "runners crash" "there are none"
fi
check "nothing is left running" no_orphans
tap_done
