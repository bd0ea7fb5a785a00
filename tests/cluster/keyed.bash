# shellcheck shell=bash
# Runs of two workers, one without keys and others that must end with its bits. Source it behind cluster.bash, with the
# model in $work/model.mlir and further flags of `pcp train` in the array `prepared`.
# shellcheck disable=SC2154 # of the test that sources this file

# train NAME ENDPOINT FLAGS: the run and its shepherd, in $work/NAME; FLAGS are the shepherd's
train() {
    local name=$1 at=$2
    shift 2
    cluster "$work/$name" "$at"
    prepare --replicas 2 --inner-steps 2 --rounds "${rounds:-12}" "${prepared[@]}" || return 1
    sed -i 's/"run": "[^"]*"/"run": "same"/' "$dir/run.json"
    shepherd --workers 2 "$@"
}
# calm_run: the one without keys, to its end
calm_run() {
    train calm "ipc://$work/calm/control"
    aggregator a0
    compiler c0
    worker w0
    worker w1
    check "a run without keys ends" ends 0
}
