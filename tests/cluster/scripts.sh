#!/usr/bin/env bash
# Scripts are called from anywhere: what their callers name lies where the callers are, also in folders with spaces. And what
# scripts/test keeps of compilers' work is what the compiler makes: of the same bytes with the same flags alone.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
scripts=$PWD/scripts
mkdir "$work/a folder"
from_there() { (cd "$work/a folder" && "$@"); }
for script in "demo" "reference single"; do
    read -ra words <<<"$script"
    check "scripts/$script looks for a file where its caller is" from_there \
        refuses "cannot read $work/a folder/none.txt" "$scripts/${words[0]}" "${words[@]:1}" --data none.txt
    check "or where an absolute name says" from_there \
        refuses "cannot read /nowhere/none.txt" "$scripts/${words[0]}" "${words[@]:1}" --data /nowhere/none.txt
done

# Two files in one: "cc" that keeps, before a "cc" that writes down its calls.
mkdir "$work/kept" "$work/real"
for name in cc glslc; do cp "${bin/\/valgrind/}/keep-compiled" "$work/kept/$name"; done # the program, not what starts it there
cat >"$work/real/cc" <<EOF
#!/bin/sh
echo "\$@" >>"$work/calls"
for word; do
    case \$word in *.c | *.comp) source=\$word ;; esac
done
grep -q wrong "\$source" && exit 3
case \$source in *.comp) out=\$source.spv ;; *) out=$work/out ;; esac
{ cat "\$source"; echo "by \$1"; } >"\$out"
EOF
chmod +x "$work/real/cc"
ln -s cc "$work/real/glslc"
# makes CALLS NAME WORD...: the compiler has been called so often after it.
makes() {
    local calls=$1 name=$2
    shift 2
    PATH=$work/kept:$work/real:$PATH "$name" "$@" || return
    [ "$(wc -l <"$work/calls")" -eq "$calls" ] || { cat "$work/calls"; return 1; }
}
out() { [ "$(cat "$1")" = "$2"$'\n'"by $3" ] || { cat "$1"; return 1; }; }
echo one >"$work/k0.c"
echo one >"$work/k1.c"
echo two >"$work/k2.c"
echo wrong >"$work/k3.c"
echo one >"$work/other.c"
check "a kernel is compiled" makes 1 cc -O3 -c -o "$work/out" "$work/k0.c"
rm "$work/out"
check "the same bytes are not" makes 1 cc -O3 -c -o "$work/out" "$work/k1.c"
check "they give the same" out "$work/out" one -O3
check "other flags are another matter" makes 2 cc -O1 -c -o "$work/out" "$work/k0.c"
check "and have a result of their own" out "$work/out" one -O1
check "so are other bytes" makes 3 cc -O3 -c -o "$work/out" "$work/k2.c"
check "which have theirs" out "$work/out" two -O3
for n in 4 5; do
    fails() { ! makes "$n" cc -O3 -c -o "$work/out" "$work/k3.c" && [ "$(wc -l <"$work/calls")" -eq "$n" ]; }
    check "what fails is tried each time ($n)" fails
done
for n in 6 7; do check "what is no kernel of a plan's is nothing to keep ($n)" makes "$n" cc -O3 -c -o "$work/out" "$work/other.c"; done
cd "$work" || exit 1
cp k0.c 0.comp
cp k2.c 1.comp
check "shaders are made one by one" makes 9 glslc -c 0.comp 1.comp
cp k2.c 2.comp
check "and kept" makes 9 glslc -c 2.comp 0.comp
check "each with its own result" out 2.comp.spv two -c
tap_done
