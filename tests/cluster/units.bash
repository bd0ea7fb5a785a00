# shellcheck shell=bash
# What every device's test asks of its target. Source it behind tap.bash; $shared has the units.
# shellcheck disable=SC2154 # of the test that sources this file

# device_sample EVERY SEED PROGRAMS [UNIT...]: golden gradients, every EVERY-th conformance unit and those named, random
# programs, and training steps of a model that has what the golden one lacks, biases among it, for $PCP_TARGET; with PCP_LONG the
# programs with expected values, too.
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
    "$bin/pcp" model gpt2 --layers 1 --heads 2 --width 32 --block 16 --vocab 65 --batch 33 >"$work/biases.mlir"
    check "training steps of a model with biases" env -u PCP_TARGET "$bin/pcp" compare "$work/biases.mlir" \
        --targets "$PCP_TARGET,c:scalar" --steps 3 --max-deviation 1e-5 --max-drift 1e-5
    if [ -n "${PCP_LONG:-}" ]; then
        check "programs with expected values" "$tests/checks_test"
    fi
}

# unit UNIT SHARE: `pcp check` of a conformance unit for $PCP_TARGET, as a line: right, refused, or wrong and why. Wrong is what is
# neither right nor refused by name. Files of its own for each share.
unit() {
    local path=${1%%#*} section='' file=$work/unit$2 status=0
    [ "$path" = "$1" ] || section=${1##*#}
    awk -v k="$section" '/^\/\/ -----/ { i++; next } k == "" || i + 0 == k + 0' \
        "$shared/data/stablehlo/$path" >"$file.mlir"
    "$bin/pcp" check --backend cpu "$file.mlir" >"$file.out" 2>&1 || status=$?
    if [ $status -eq 0 ]; then
        echo right
    elif [ $status -eq 2 ] && grep -qE ' has no | rounds of loops ' "$file.out"; then
        echo refused
    else
        echo "wrong $1: $status: $(head -n 3 "$file.out")"
    fi
}

# units LIST...: each of them, in as many shares at a time as there are cores.
units() {
    local shares share i right refused wrong running=()
    shares=$(nproc)
    for ((share = 0; share < shares; share++)); do
        for ((i = share + 1; i <= $#; i += shares)); do unit "${!i}" $share; done >"$work/units$share" &
        running+=($!)
    done
    wait "${running[@]}"
    right=$(cat "$work"/units[0-9]* | grep -c '^right$')
    refused=$(cat "$work"/units[0-9]* | grep -c '^refused$')
    wrong=$(($# - right - refused))
    cat "$work"/units[0-9]* | grep -vE '^(right|refused)$'
    echo "$right right, $refused refused by name, $wrong wrong"
    [ $wrong -eq 0 ] && [ "$right" -gt $((refused * 2)) ]
}
