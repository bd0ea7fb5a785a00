#!/usr/bin/env bash
# pcp check as a user runs it: exit status, and where, got and expected on stderr.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

# module NAME VALUE: a file whose check holds when VALUE is 3
module() {
    cat >"$work/$1.mlir" <<END
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.add %a, %a : tensor<2xf32>
  %c = stablehlo.constant dense<[2.0, $2]> : tensor<2xf32>
  check.expect_eq %b, %c : tensor<2xf32>
  return
}
END
}
# ends STATUS FILE...: pcp check ends with this status
ends() {
    local want=$1 status=0
    shift
    "$bin/pcp" check "$@" >"$work/out" 2>"$work/err" || status=$?
    cat "$work/err"
    [ "$status" -eq "$want" ]
}
says() { grep -qF -- "$1" "$work/err" || { cat "$work/err"; return 1; }; }

module good 4.0
module bad 5.0
check "a check that holds" ends 0 "$work/good.mlir"
check "it says nothing" test ! -s "$work/err"
check "a check that does not hold" ends 1 "$work/bad.mlir"
check "where, found, expected" \
    says "bad.mlir: line 5: check.expect_eq: element [1] of f32 is 4, expected 5"

check "a check that holds, compiled" ends 0 --backend cpu "$work/good.mlir"
check "a check that does not hold, compiled" ends 1 --backend cpu "$work/bad.mlir"
check "where, found, expected, compiled" \
    says "bad.mlir: line 5: check.expect_eq: element [1] of f32 is 4, expected 5"
check "no such backend" ends 2 --backend gpu "$work/good.mlir"

{ cat "$work/good.mlir"; echo '// -----'; cat "$work/bad.mlir"; } >"$work/both.mlir"
check "one bad section of two" ends 1 "$work/both.mlir"
check "its line counts from the top of the file" says "both.mlir: line 13:"
{ cat "$work/both.mlir"; echo '// -----'; echo 'func.func @main('; } >"$work/three.mlir"
check "a section that cannot be read" ends 2 "$work/three.mlir"
check "both bad sections are named" says "three.mlir: line 13:"
check "the parser's place" says "three.mlir:18:"

sed 's/stablehlo.add/stablehlo.fft/' "$work/good.mlir" >"$work/unknown.mlir"
check "an op that is not there" ends 2 "$work/unknown.mlir"
check "it is named" says "stablehlo.fft"
: >"$work/empty.mlir"
check "an empty file" ends 2 "$work/empty.mlir"
check "a missing file" ends 2 "$work/nowhere.mlir"
check "no file" ends 2
tap_done
