#!/usr/bin/env bash
# A model whose data are no text, trained on records by two replicas: the table of roles, states that are averaged and not
# stepped by the outer rule, the same bits when a worker is killed, a run that goes on, and what is refused.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

[[ $bin = /* ]] || bin=$PWD/$bin
cp tests/models/roles/*.mlir "$work"
cd "$work" || exit 1

# npy FILE DESCR SHAPE: an array of the numbers on standard input, in NumPy's format (numpy.lib.format, version 1)
npy() {
    perl -e '
        my ($descr, $shape) = @ARGV;
        my $pack = {"<f4" => "f<*", "|u1" => "C*", "<i8" => "q<*"}->{$descr};
        my $header = "{\x27descr\x27: \x27$descr\x27, \x27fortran_order\x27: False, \x27shape\x27: ($shape), }";
        $header .= " " x (63 - (length($header) + 10) % 64) . "\n";
        print "\x93NUMPY\x01\x00", pack("v", length $header), $header, pack($pack, map { split } <STDIN>);
    ' "$2" "$3" >"$1"
}
# numbers N MOST: from 0 to MOST, the same each time
numbers() { awk -v n="$1" -v most="$2" 'BEGIN { x = 1; while (n--) { x = (x * 16807) % 2147483647; print x / 2147483647 * most } }'; }

mkdir data images
numbers 1200 2 | npy data/inputs.npy "<f4" "200, 6"
numbers 400 1 | npy data/targets.npy "<f4" "200, 2"
numbers 2880 1 | npy images/images.npy "<f4" "80, 6, 6, 1"
awk 'BEGIN { for (i = 0; i < 80; i++) print i % 3 }' | npy images/1.npy "|u1" "80,"

# begin NAME MODEL DATA [FLAGS]
begin() {
    local name=$1 model=$2 data=$3
    shift 3
    timeout $((100 * slow)) "$bin/pcp" train "$model" --data "$data" --workers 2 --threads 1 --inner-steps 4 --rounds 200 \
        --lr 0.01 --schedule constant --run-dir "$name" "$@" >"$name.txt" 2>&1
}
parameters() {
    local bytes=$((4 * $(sed -n 's/.*: \([0-9]*\) parameters in .*/\1/p' "$1.txt" | head -n 1)))
    tail -c "$bytes" "$1/checkpoint/latest/model.safetensors"
}
hash() { sha256sum | head -c 64; }
last_number() { parameters "$1" | tail -c 4 | od -An -tf4 | tr -d ' '; }

begin calm mlp.mlir records:data
check "a run on records ends well" test $? -eq 0
check "its table tells data, keys, states and steps apart" grep -q "arg3  tensor<i32> *state:1 " calm.txt
check "and why" grep -q '%dropout_key .* seed .* the name "dropout_key"' calm.txt
# Nesterov's rule (0.7, momentum 0.9) would make more of it, or less.
check "a counter of steps is the mean of the replicas': 200 rounds of 4" test "$(last_number calm)" = 800
check "its model says its roles itself" grep -q 'pcp.role = "state:1"' calm/model.mlir

# --- a worker is killed: the same bits ---
# A worker of the run that process $1 has started, once it has trained.
descendants() { for child in $(pgrep -P "$1"); do echo "$child" && descendants "$child"; done; }
worker_of() { for pid in $(descendants "$1"); do [ "$(ps -o comm= -p "$pid")" != pcp-worker ] || echo "$pid"; done; }
has_trained() { grep -qs lease_done "$1"/logs/local-w*.log; }
# kill_one PROCESS RUN
kill_one() {
    local pid
    eventually $((60 * slow)) has_trained "$2" || return 1
    pid=$(worker_of "$1" | head -n 1)
    [ -n "$pid" ] && kill -9 "$pid"
}
# loses_one CALM MODEL DATA: what CALM did, but a worker is killed
loses_one() {
    local killed=$1-killed process
    begin "$killed" "$2" "$3" &
    process=$!
    check "$2: a worker is killed" kill_one "$process" "$killed"
    wait "$process"
    check "$2: a run that loses a worker ends well" test $? -eq 0
    check "$2: with the same parameters and states" cmp <(parameters "$1") <(parameters "$killed")
}
loses_one calm mlp.mlir records:data

# A mixture of experts: which of them a row takes must be the same, too.
mkdir rows
numbers 960 2 | npy rows/x.npy "<f4" "160, 6"
awk 'BEGIN { for (i = 0; i < 160; i++) print i % 3 }' | npy rows/labels.npy "<i8" "160,"
begin experts moe.mlir records:rows
check "a mixture of experts trains on records" test $? -eq 0
check "and what it returns beside the loss is named" grep -q "results that nothing reads: 1 (result\[1\]\['balance'\]" experts.txt
loses_one experts moe.mlir records:rows

# --- codecs leave states alone ---
# A counter's steps are thousands of times those of a parameter: as the scale of their block they would make all of them zero.
begin little mlp.mlir records:data --rounds 1 --lr 0.0001 --codec int8
begin more mlp.mlir records:data --rounds 40 --lr 0.0001 --codec int8
check "parameters beside a counter are trained with int8" test "$(parameters little | head -c -4 | hash)" != "$(parameters more | head -c -4 | hash)"
check "and the counter is right" test "$(last_number more)" = 160
begin both mlp.mlir records:data --rounds 40 --lr 0.0001 --codec int8 --down-codec int8
check "also with int8 on the way down" test "$(last_number both)" = 160
# Error feedback would add a variance's way of earlier rounds to it again, until it is below zero.
begin sparse convnet.mlir records:images --rounds 40 --codec topk
variances() { parameters "$1" | tail -c 16 | od -An -tf4; }
check "running variances are above zero with topk" test -z "$(variances sparse | grep -e - -e nan)"

# --- it goes on ---
check "the run goes on for two more rounds" timeout $((100 * slow)) "$bin/pcp" train --resume calm --rounds 202
check "and its states with it" test "$(last_number calm)" = 808

# --- batch norm and dropout, images and labels of bytes ---
begin conv convnet.mlir records:images --rounds 2
check "a convnet with batch norm trains on images" test $? -eq 0
check "its states are the exporter's" grep -q "batch_stats\['bn'\]\['var'\] .*state:2" conv.txt

# --- the same model as StableHLO's serializers write it ---
check "the convnet as bytecode" "$bin/write-bytecode" convnet.mlir convnet.mlirbc
begin bytes convnet.mlirbc records:images --rounds 2
check "trains to the same bits" cmp <(parameters conv) <(parameters bytes)
check "with the same roles" cmp <(grep 'batch_stats' conv.txt) <(grep 'batch_stats' bytes.txt)
check "its run keeps the model as text" grep -q "func.func public @main" bytes/model.mlir
"$bin/write-bytecode" convnet.mlir newer.mlirbc 7 100
check "pcp compile shows the module of both" cmp <("$bin/pcp" compile convnet.mlir --emit grad | grep -v func.func) \
    <("$bin/pcp" compile convnet.mlirbc --emit grad | grep -v func.func)
check "pcp profile takes it" "$bin/pcp" profile convnet.mlirbc --steps 2
check "what is newer than known" refuses "version 7; versions 0 to 6 are read" "$bin/pcp" train newer.mlirbc --data records:images

# --- the same records in other files: the same bytes to train on ---
# as_npz FILE ARRAY...: what numpy.savez_compressed makes of NAME.npy
as_npz() {
    local file=$1
    shift
    perl -MIO::Compress::Zip=:all -e 'my $file = shift; zip [@ARGV] => $file, FilterName => sub { s|.*/|| }, Zip64 => 1 or die $ZipError' "$file" "$@"
}
mkdir packed raw
as_npz packed/all.npz data/inputs.npy data/targets.npy
begin from-npz mlp.mlir records:packed --rounds 1
check "records of an archive are those of its arrays" cmp calm/train.u16 from-npz/train.u16
tail -c 4800 data/inputs.npy >raw/inputs.f32
tail -c 1600 data/targets.npy >raw/targets.f32
echo '{"inputs": {"file": "inputs.f32", "type": "f32", "shape": [6]}, "targets": {"file": "targets.f32", "type": "f32", "shape": [2]}}' >raw/schema.json
begin from-raw mlp.mlir records:raw --rounds 1
check "records of raw files are the same" cmp calm/train.u16 from-raw/train.u16
head -c 3000 packed/all.npz >cut.npz
check "an archive that is cut off" refuses "this is no zip archive, or it is cut off" "$bin/pcp" train mlp.mlir --data records:cut.npz
cp packed/all.npz damaged.npz
printf damage | dd of=damaged.npz bs=1 seek=600 conv=notrunc status=none
check "one that is damaged inside" refuses "damaged.npz: inputs.npy: " "$bin/pcp" train mlp.mlir --data records:damaged.npz --run-dir damaged
check "leaves no run behind" test ! -e damaged

# --- weights that stand in the text, and values that other programs have written ---
check "a model without weights says which flag finds them" refuses "constants-as-params" "$bin/pcp" train closed.mlir --data records:data
check "also where a plan of it is wanted" refuses "constants-as-params" "$bin/pcp" compile closed.mlir --emit plan
begin closed closed.mlir records:data --constants-as-params --rounds 1
check "constants become parameters" test $? -eq 0
# The first numbers of the text's constant of 24: states that come first in the file are none here.
first_numbers() { tail -c 160 "$1" | head -c 8 | od -An -tf4 | awk '{ printf "%.3e %.3e", $1, $2 }'; }
want=$(sed -n 's/.*dense<\[\[\([^,]*\), \([^,]*\),.*tensor<6x4xf32>.*/\1 \2/p' closed.mlir | head -n 1)
check "and start as the text has them" test "$(first_numbers closed/init.safetensors)" = "$want"
check "which the run's own text has no more" test "$(grep -c "dense<\[\[" closed/model.mlir)" = 0
check "a text that comes through a pipe is the same" cmp <("$bin/pcp" compile closed.mlir --emit ir --constants-as-params 2>&1) \
    <("$bin/pcp" compile /dev/stdin --emit ir --constants-as-params < <(cat closed.mlir) 2>&1)
LC_ALL=C sed 's|dense/kernel|dense.kernel|; s|"constant1"|"1"        |' closed/checkpoint/latest/model.safetensors >other.safetensors
begin again closed.mlir records:data --constants-as-params --init other.safetensors --rounds 1
check "a run begins where names and numbers of a file say" cmp <(tail -c 160 closed/checkpoint/latest/model.safetensors) <(tail -c 160 again/init.safetensors)

# --- shapes that the text leaves open ---
mkdir open
numbers 1280 2 | npy open/x.npy "<f4" "160, 8"
awk 'BEGIN { for (i = 0; i < 160; i++) print i % 4 }' | npy open/labels.npy "|u1" "160,"
check "open shapes" refuses "say what they are: --shape" "$bin/pcp" train open.mlir --data records:open
begin open-run open.mlir records:open --shape x=8x8 --shape labels=8 --rounds 1
check "train once they are said" test $? -eq 0
check "and the run's own text has them" grep -q "tensor<8x8xf32>" open-run/model.mlir

# --- what is refused ---
check "records that are not there" refuses "there is no arg4.npy, nor inputs.npy, nor 0.npy" "$bin/pcp" train mlp.mlir --data records:images
check "an argument that the caller must tell" refuses "which is none: param" "$bin/pcp" train mlp.mlir \
    --data records:data --role w1=weight
numbers 400 1 | npy data/targets.npy "<f4" "100, 4"
check "records of another shape" refuses "records come first" "$bin/pcp" train mlp.mlir --data records:data
head -c 100 data/inputs.npy >short.npy
mv short.npy data/inputs.npy
check "a file that is cut off" refuses "the .npy header is cut off" "$bin/pcp" train mlp.mlir --data records:data

tap_done
