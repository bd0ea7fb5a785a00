# shellcheck shell=bash
# What every device's test asks of its target. Source it behind tap.bash; $shared has the units.
# shellcheck disable=SC2154 # of the test that sources this file

# device_sample EVERY SEED PROGRAMS [UNIT...]: golden gradients, every EVERY-th conformance unit and those named, and random
# programs, for $PCP_TARGET; with PCP_LONG the programs with expected values, too.
device_sample() {
    local golden=$shared/conformance/golden every=$1 random=$2:$3 list
    shift 3
    if [ -e "$golden/gradients.json" ]; then
        check "golden gradients" "$bin/golden-check" "$shared/data/models/nanogpt_small.mlir" "$golden/gradients.json" --backend cpu
        mapfile -t list < <(awk -F '\t' -v n="$every" '!/^# |^$/ && NR % n == 1 % n { print $1 }' "$shared/conformance/list.txt")
        [ "$every" -eq 1 ] || list+=("$@")
        check "${#list[@]} conformance units" units "${list[@]}"
        sed 's/^/# /' "$work/check.out"
    else
        skip "golden gradients, conformance units" "no $golden: set PCP_SHARED"
    fi
    check "random programs" env PCP_PROGRAMS="$random" "$tests/random_cpu_test"
    sed -n 's/^\([0-9].* wrong\|[0-9].* refused by name\)$/# \1/p' "$work/check.out"
    if [ -n "${PCP_LONG:-}" ]; then
        check "programs with expected values" "$tests/checks_test"
    fi
}

# units LIST...: `pcp check` of each conformance unit for $PCP_TARGET; wrong is what is neither right nor refused by
# name.
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
