#!/usr/bin/env bash
# How the programs are built: what makes a mistake in C hard to use (Makefile, HARDEN). Of a release build.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

case $bin in build/bin | */build/bin) ;; *) skip "how programs are built" "not a release build"; tap_done; exit ;; esac
command -v readelf >/dev/null || { skip "how programs are built" "readelf is not installed"; tap_done; exit; }

position_independent() { readelf -hW "$1" | grep -q 'Type: *DYN'; }
# Tables of functions are filled before main and then read-only.
full_relro() { readelf -lW "$1" | grep -q GNU_RELRO && readelf -dW "$1" | grep -q 'BIND_NOW'; }
no_executable_stack() { readelf -lW "$1" | grep GNU_STACK | grep -q ' RW '; }
stack_protector() { readelf --dyn-syms -W "$1" | grep -q '__stack_chk_fail'; }
fortified() { readelf --dyn-syms -W "$1" | grep -qE '__(memcpy|snprintf|vsnprintf|read)_chk'; }
# Each object says that it checks jumps, where the processor can.
checks_jumps() { readelf -nW "$1" | grep -qE 'x86 feature:.*(IBT|SHSTK)'; }

programs=("$bin"/pcp "$bin"/pcp-*)
for one in "${programs[@]}"; do
    name=${one##*/}
    for what in position_independent full_relro no_executable_stack stack_protector fortified; do
        check "$name: ${what//_/ }" "$what" "$one"
    done
done
check "there are programs" test ${#programs[@]} -ge 7
if [ "$(uname -m)" = x86_64 ]; then
    for object in "${bin%/bin}"/obj/release/{services/worker/main,libshared/base/log}.o; do
        check "$object: checks jumps" checks_jumps "$object"
    done
fi
tap_done
