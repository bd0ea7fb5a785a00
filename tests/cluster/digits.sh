#!/usr/bin/env bash
# A convolutional network with batch norm and dropout learns digits from records of bytes; its accuracy, by a second function of
# the model that reads the running statistics.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

[[ $bin = /* ]] || bin=$PWD/$bin
cp tests/models/roles/digits.mlir "$work"
cd "$work" || exit 1

"$bin/draw-digits" train 1600 1 && "$bin/draw-digits" again 1600 1 && "$bin/draw-digits" test 450 2
check "images are the same each time" cmp train/images.npy again/images.npy
check "and others with another seed" test "$(cksum <train/labels.npy)" != "$(cksum <test/labels.npy)"

train() {
    timeout $((120 * slow)) "$bin/pcp" train digits.mlir --data records:train --workers 2 --threads 1 --inner-steps 20 --rounds 6 \
        --lr 3e-3 --schedule constant --run-dir run >train.txt 2>&1
}
check "the network trains" train
# accuracy DIR: of the run's checkpoint, or of one of its rounds
accuracy() { "$bin/pcp" eval --checkpoint "$1" --entry accuracy records:test --threads 1 >eval.txt && awk '$1 == "accuracy" { print $2 }' eval.txt; }
known=$(accuracy run)
check "it knows nine of ten digits that it has not seen ($known)" awk -v a="$known" 'BEGIN { exit !(a > 0.9 && a <= 1) }'
check "records that fill no batch are named" grep -qx "records *400 (the last 50 fill no batch of 100)" eval.txt

# A tenth would be chance: its labels are other ones.
mkdir turned
cp test/images.npy test/schema.json turned
perl -0777 -pe 's/(.{128})(.*)/$1 . join "", map { chr((ord($_) + 5) % 10) } split m{}, $2/se' test/labels.npy >turned/labels.npy
check "wrong labels are not known" awk -v a="$("$bin/pcp" eval --checkpoint run --entry accuracy records:turned | awk '$1 == "accuracy" { print $2 }')" \
    'BEGIN { exit !(a < 0.1) }'
check "without --entry the loss is told" grep -q "^loss  *[0-9]" <("$bin/pcp" eval --checkpoint run records:test)

check "a function that is not there" refuses "no function @precision" "$bin/pcp" eval --checkpoint run --entry precision records:test
check "--entry over a text" refuses "entry is for records" "$bin/pcp" eval --checkpoint run --entry accuracy train.txt
"$bin/draw-digits" few 20 3
check "fewer records than a batch" refuses "20 records, a batch of @accuracy has 100" "$bin/pcp" eval --checkpoint run --entry accuracy records:few
tap_done
