#!/usr/bin/env bash
# libpcp as programs of others see it: its headers by themselves, its binary interface, and the examples.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
build=${bin%/bin}
lib=$build/lib cc=${CC:-cc}

# --- headers: each by itself, in C and in C++, without the tree's ---

# shellcheck disable=SC2317 # called by check
compiles_alone() { # COMPILER FLAGS HEADER
    printf '#include <pcp/%s>\nint pcp_nothing(void);\n' "$2" >"$work/alone.$3"
    # shellcheck disable=SC2086 # the compiler may be several words
    $1 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$work/alone.$3"
}
for header in include/pcp/*.h; do
    name=${header##*/}
    check "$name compiles alone as C11" compiles_alone "$cc -std=c11" "$name" c
    if command -v g++ >/dev/null; then
        check "$name compiles alone as C++11" compiles_alone "g++ -std=c++11" "$name" cpp
    else
        skip "$name compiles alone as C++11" "no g++"
    fi
done

# --- the binary interface: what the headers declare, written out, and what the library shows ---

golden=tests/golden/abi/libpcp.txt
# Declarations, one a line, macros resolved; then sizes, as a compiler lays things out.
# shellcheck disable=SC2317
interface() {
    # shellcheck disable=SC2086
    $cc -std=c11 -E -Iinclude include/pcp/pcp.h |
        awk '/^# /{ on = $3 ~ /include\/pcp\//; next } on' | tr -s ' \n\t' ' ' | sed 's/; /;\n/g' |
        awk '{ depth += gsub(/{/, "{") - gsub(/}/, "}"); line = line $0 " "; if (depth == 0) { print line; line = "" } }' |
        sed 's/^ *//; s/ *$//; s/ \([,;)]\)/\1/g; s/\([(]\) /\1/g' | grep -i pcp_ | LC_ALL=C sort
    for type in pcp_type_t pcp_value_t pcp_dtype_t pcp_code_t; do
        printf '#include <pcp/pcp.h>\nint size[sizeof(%s)];\n' "$type" >"$work/size.c"
        $cc -Iinclude -c -o "$work/size.o" "$work/size.c" || return 1
        nm -S -t d "$work/size.o" | awk -v type="$type" '$4 == "size" { print "sizeof(" type ") is " $2 / 4 }'
    done
}
# shellcheck disable=SC2317
interface_is_kept() {
    interface >"$work/interface" || return 1
    diff -u "$golden" "$work/interface" && return 0
    echo "The public interface has changed ('-' was promised to programs that are there, '+' is new). What is only added:"
    echo "a node LIBPCP_MAJOR.MINOR of its own in libshared/api/libpcp.map with the new names, and the next minor number in VERSION."
    echo "What has changed or gone breaks programs: the next major number in VERSION as well (libpcp.so.MAJOR), and all nodes"
    echo "become one. Then: PCP_ABI_WRITE=1 tests/cluster/library.sh writes $golden."
    return 1
}
declared() { grep -oE '\bpcp_[a-z0-9_]+\(' "$golden" | tr -d '(' | LC_ALL=C sort -u; }
mapped() { sed -n 's/^ *\(pcp_[a-z0-9_]*\);/\1/p' libshared/api/libpcp.map | LC_ALL=C sort; }
# shellcheck disable=SC2317
same() { diff <("$1") <("$2"); }
shown() { nm -D --defined-only "$lib/libpcp.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort; }
kept_in_static() { nm --defined-only --extern-only "$lib/libpcp.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort; }
# shellcheck disable=SC2317
each_has_a_version() { ! nm -D --defined-only "$lib/libpcp.so" | awk '$2 != "A"' | grep -v '@@LIBPCP_'; }
# shellcheck disable=SC2317
has_soname() { readelf -d "$lib/libpcp.so" | grep -q "SONAME.*libpcp\.so\.$(cut -d. -f1 VERSION)\]"; }
# shellcheck disable=SC2317
needs_no_server() { ! readelf -d "$lib/libpcp.so" | grep NEEDED | grep -E 'zmq|czmq|libpq|sqlite|hiredis|microhttpd|curl|ncurses|yaml'; }
# shellcheck disable=SC2317
keeps_to_itself() { ! grep -rnE '#include' include | grep -vE '<(pcp/[a-z]+|stddef|stdint)\.h>'; }

[ "${PCP_ABI_WRITE:-}" != 1 ] || { interface >"$golden" && echo "# $golden written"; }
check "the public interface is the one that was promised" interface_is_kept
check "each declared function is in the version script, and no other" same declared mapped
check "the shared library shows those" same mapped shown
check "the static library shows those" same mapped kept_in_static
check "each has a version" each_has_a_version
check "the shared library is called by its major version" has_soname
check "and needs no library of services" needs_no_server
check "public headers include the C library's and each other" keeps_to_itself

# --- examples: built against the public headers and the shared library alone ---

text=${PCP_SHARED:-../shared}/data/tiny_shakespeare.txt
if [ ! -r "$text" ]; then
    echo "# no $text: the example of training reads this tree's documentation"
    text=$work/text
    text >"$text"
fi
steps=30
[ "$slow" -eq 1 ] || steps=2
# Each checks its own results and says so by its status; it runs where it may write.
examples=$(realpath "$build")/examples
example() { # NAME ARGUMENT...
    local name=$1
    shift
    (cd "$work" && "$examples/$name" "$@")
}
says() { # WORDS COMMAND...
    local words=$1
    shift
    "$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    grep -qF -e "$words" "$work/said" || { cat "$work/said"; return 1; }
}
check "primitive: ops, and shapes that do not fit" says \
    'refused: stablehlo.add: operands 0 and 1 must have one type, got tensor<2x3xf32> and tensor<2xf32>' example primitive
check "network: prints gradients and learns XOR" says grad.w2 example network
check "differences: gradients are differences" says 'worst deviation' example differences
check "plan_by_hand: finds the line" says 'step 40: w ( 3.0000, -2.0000)' example plan_by_hand
check "gpt2: from scratch is what the builder makes" says 'from scratch: loss' example gpt2
check "device_test: the processor computes what the evaluator does" says 'cpu' example device_test cpu
check "device_bench: the processor's speed" says 'GFLOP/s' example device_bench cpu 128
check "memory: ends at zero" says '0 bytes: at the end' example memory
text=$(realpath "$text")
check "shakespeare: trains and writes" says "step   $(printf %2d $steps): loss" example shakespeare "$text" $steps
written() { [ "$(wc -c <"$work/said")" -gt 150 ]; }
check "shakespeare: writes what was asked for" written

# shellcheck disable=SC2317
short_and_listed() {
    local file
    for file in examples/*.[ch]; do
        [ "$(wc -l <"$file")" -lt 80 ] || { echo "$file has 80 lines or more"; return 1; }
        grep -qF "(${file##*/})" examples/README.md || { echo "$file is not in examples/README.md"; return 1; }
    done
}
check "examples are short, and all in the table" short_and_listed
# Code in the guide is an example's, or the other way round.
# shellcheck disable=SC2317
guide_quotes_examples() {
    local line n=0
    while IFS= read -r line; do
        grep -qxF -e "$line" examples/*.[ch] include/pcp/*.h || { echo "docs/library.md quotes what is nowhere: $line"; return 1; }
        n=$((n + 1))
    done < <(awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on && NF' docs/library.md)
    [ "$n" -gt 15 ] || { echo "docs/library.md quotes $n lines"; return 1; }
}
check "the guide's code is that of the examples" guide_quotes_examples
tap_done
