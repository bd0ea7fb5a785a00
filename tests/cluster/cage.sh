#!/usr/bin/env bash
# A plan with code of somebody else's: each shared object that the compiler makes has a constructor that reads
# /etc/passwd, writes files, forks, runs a program, opens a raw socket, looks into its parent and signals it, and says how
# that went. In a caged worker all of it fails, and the run ends with the bits of one without; --cage off is how it was.
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
    told("socket", socket(AF_PACKET, SOCK_RAW, 0));
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
    prepare --replicas 2 --inner-steps 2 --rounds 3 --val-fraction 0 || return 1
    sed -i 's/"run": "[^"]*"/"run": "same"/' "$dir/run.json"
    shepherd --workers 1
    aggregator a0
    rm -rf "$work/plans" # the compiler's: it knows nothing of PCP_CC
}
said() { event w0 "^hostile $1=$2"; }

train calm
compiler c0
worker w0
check "a run of plain plans ends" ends 0
check "its worker is caged" event w0 'event=cage .*calls='
calls=$(sed -n 's/.*event=cage .*calls=\([0-9]*\) paths=.*/\1/p' "$dir/w0.log")
paths=$(sed -n 's/.*event=cage .*paths=\([0-9]*\).*/\1/p' "$dir/w0.log")
dismiss

export PCP_CC=$work/cc
train caged
compiler c0
worker w0
check "a run of hostile plans ends" ends 0
if [ "$calls" = 1 ]; then
    for what in fork exec socket peek signal; do
        check "$what is refused" said $what refused
    done
else
    skip "calls are refused" "no seccomp, or a sanitizer"
fi
if [ "$paths" != 0 ]; then
    check "reading /etc/passwd is refused" said read refused
    check "writing elsewhere is refused" said write refused
    check "nothing was written" test ! -e "$work/spoiled"
else
    skip "paths are refused" "no Landlock, or a sanitizer"
fi
check "with the bits of plain plans" cmp "$work/calm/checkpoint/latest/model.safetensors" "$dir/checkpoint/latest/model.safetensors"
dismiss

train free
compiler c0
worker w0 --cage off
check "without a cage the run ends" ends 0
check "and the plan could read" said read "done"
check "and write" said write "done"
dismiss
check "nothing is left running" no_orphans
tap_done
