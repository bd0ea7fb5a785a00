# shellcheck shell=bash
# units LIST...: `pcp check` of each conformance unit for $PCP_TARGET; wrong is what is neither right nor refused by
# name. Source it behind tap.bash; $shared has the units.
# shellcheck disable=SC2154 # of the test that sources this file
units() {
    local unit path section status right=0 refused=0 wrong=0
    for unit in "$@"; do
        path=${unit%%#*} section=''
        [ "$path" = "$unit" ] || section=${unit##*#}
        awk -v k="$section" '/^\/\/ -----/ { i++; next } k == "" || i + 0 == k + 0' \
            "$shared/data/stablehlo/$path" >"$work/unit.mlir"
        status=0
        "$bin/pcp" check --backend cpu "$work/unit.mlir" >"$work/unit.out" 2>&1 || status=$?
        if [ $status -eq 0 ]; then
            right=$((right + 1))
        elif [ $status -eq 2 ] && grep -qE ' has no | rounds of loops ' "$work/unit.out"; then
            refused=$((refused + 1))
        else
            wrong=$((wrong + 1))
            echo "$unit: $status: $(head -n 3 "$work/unit.out")"
        fi
    done
    echo "$right right, $refused refused by name, $wrong wrong"
    [ $wrong -eq 0 ] && [ $right -gt $((refused * 2)) ]
}
