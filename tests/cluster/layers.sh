#!/usr/bin/env bash
# scripts/layers: what it refuses, in trees of a few files.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

tree=$work/tree
mkdir -p "$tree/scripts"
cp scripts/layers "$tree/scripts"

# FILE includes HEADER, alone in its tree.
only() {
    rm -rf "$tree/libshared" "$tree/services" "$tree/include"
    mkdir -p "$tree"/services/{worker,shepherd,pcp} "$tree/libshared" "$tree/include/pcp" "$tree/$(dirname "$1")"
    echo '#include <stdint.h>' >"$tree/include/pcp/tensor.h"
    printf '#include %s\n' "$2" >"$tree/$1"
}
holds() { only "$1" "$2" && "$tree/scripts/layers"; }
refused() { only "$1" "$2" && ! "$tree/scripts/layers" >"$work/said" 2>&1 && grep -qF "$3" "$work/said"; }

check "this tree holds" scripts/layers
check "a folder may include what its row names" holds libshared/runtime/exec.c '"plan/format/plan.h"'
check "and its own headers" holds libshared/runtime/exec.c '"runtime/pool.h"'
check "a higher folder is refused" \
    refused libshared/ir/op.c '"plan/format/plan.h"' 'libshared/ir/op.c:1: ir includes plan/format/plan.h, which is a higher layer'
check "runtime may not include compile, which is lower" \
    refused libshared/runtime/exec.c '"compile/compile.h"' 'which its row in scripts/layers does not name'
check "nor ops" refused libshared/runtime/exec.c '"ops/eval.h"' 'which its row in scripts/layers does not name'
check "nor model compile" refused libshared/model/gpt2.c '"compile/compile.h"' 'does not name'
check "a service has a row, too" holds services/worker/main.c '"msg/member.h"'
check "and may include no more than it names" refused services/worker/main.c '"store/store.h"' 'does not name'
check "nor another service" refused services/worker/main.c '"shepherd/work.h"' 'of a service'
check "a service's own folders have an order" \
    holds services/shepherd/round/a.c '"shepherd/roster/roster.h"'
check "which an include may not turn round" \
    refused services/shepherd/roster/a.c '"shepherd/round/work.h"' 'shepherd/round/work.h, which is a higher layer'
check "and a new one has its place there" \
    refused services/shepherd/new/a.c '"shepherd/shepherd.h"' 'services/shepherd/new has no place'
check "a folder without a row is refused" refused libshared/new/a.c '"base/err.h"' 'has no row'
check "a library has its owners" refused libshared/plan/format/plan.c '<sqlite3.h>' 'may be included only in'
check "api includes the public headers" holds libshared/api/tensor.c '"pcp/tensor.h"'
check "which are nobody else's" refused libshared/model/init.c '"pcp/tensor.h"' 'is for programs outside of this tree'
check "nor a service's" refused services/pcp/main.c '"pcp/tensor.h"' 'is for programs outside of this tree'
check "and include nothing of this tree" refused include/pcp/graph.h '"base/err.h"' 'a public header includes'

# FILE holds one line of C.
line() { only "$1" '"base/err.h"' && printf '%s\n' "$2" >>"$tree/$1"; }
socket_holds() { line "$1" "$2" && "$tree/scripts/layers"; }
socket_refused() { line "$1" "$2" && ! "$tree/scripts/layers" >"$work/said" 2>&1 && grep -qF endpoint_open "$work/said"; }
check "a socket is made in one file" socket_holds libshared/msg/endpoint.c 'zsock_t *s = zsock_new(type);'
check "and in no other of its folder" socket_refused libshared/msg/member.c 'zsock_t *s = zsock_new_dealer(NULL);'
check "nor in a service" socket_refused services/worker/loop.c '    zsock_connect (s, "%s", at);'
check "nor by the library beneath" socket_refused services/worker/loop.c 'void *s = zmq_socket(context, ZMQ_SUB);'
tap_done
