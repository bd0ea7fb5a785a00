#!/usr/bin/env bash
# `make install`: what lies where, and whether it works from there. With PCP_TEST_DEPLOY=1 also the Debian package,
# installed in a clean Debian root (needs root, mmdebstrap and a Debian mirror; some minutes).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash
root=$work/root

MAKEFLAGS='' check "make install" make -s install DESTDIR="$root" prefix=/usr MODE=release
at=$root/usr/bin

# shellcheck disable=SC2317 # called by check
one_version() {
    local program wanted n=0
    wanted=$(cat VERSION)
    for program in "$at"/*; do
        [ "$("$program" --version)" = "${program##*/} $wanted" ] || { echo "$program: $("$program" --version)"; return 1; }
        n=$((n + 1))
    done
    [ "$n" -eq "$(find services -mindepth 2 -maxdepth 2 -name main.c | wc -l)" ]
}
check "every program is there, and of one version" one_version
# shellcheck disable=SC2317
every_page() {
    local command name
    for command in $("$at/pcp" --commands); do
        [ "$("$at/pcp" "$command" --version)" = "pcp $command $(cat VERSION)" ] || { echo "pcp $command --version"; return 1; }
        [ -s "$root/usr/share/man/man1/pcp-$command.1" ] || { echo "no page for pcp $command"; return 1; }
    done
    for name in "$at"/pcp-*; do
        [ -s "$root/usr/share/man/man8/${name##*/}.8" ] || { echo "no page for $name"; return 1; }
    done
}
check "every command and service has its page for man" every_page
# shellcheck disable=SC2317
pages_are_sound() {
    local page
    for page in "$root"/usr/share/man/man*/*; do
        man --warnings -l "$page" >"$work/page" 2>"$work/warnings"
        if [ -s "$work/warnings" ] || [ ! -s "$work/page" ]; then
            echo "$page"
            cat "$work/warnings"
            return 1
        fi
    done
}
if command -v man >/dev/null && man --version >/dev/null 2>&1; then
    check "man reads them without a warning" pages_are_sound
    check "a flag with its range and default is in its page" sh -c "man -l '$root/usr/share/man/man1/pcp-train.1' | grep -A3 -e --inner-steps | grep -q 'default:'"
else
    skip "man reads them" "no man"
fi
# shellcheck disable=SC2317 # systemd looks for programs where units say that they are
units_are_sound() {
    systemd-analyze verify --man=no --root="$root" "$root"/usr/lib/systemd/system/pcp-*.service 2>&1 |
        grep -E 'pcp-[a-z]+\.service' | grep -vE 'Failed to create|not found|Cannot add dependency' && return 1
    return 0
}
if command -v systemd-analyze >/dev/null; then
    check "systemd takes the units" units_are_sound
else
    skip "systemd takes the units" "no systemd-analyze"
fi
# shellcheck disable=SC2317
units_start_what_is_there() {
    local unit program flag
    for unit in "$root"/usr/lib/systemd/system/pcp-*.service; do
        read -r program _ < <(sed -n 's/^ExecStart=//p' "$unit")
        [ -x "$root$program" ] || { echo "$unit: no $program"; return 1; }
        while read -r flag; do
            case ${program##*/} in
            pcp-shepherd) "$root$program" --cluster --help ;;
            *) "$root$program" --help ;;
            esac | grep -qE -e "$flag( |\$)" || { echo "$unit: no flag $flag"; return 1; }
        done < <(sed -n 's/^ExecStart=//p' "$unit" | grep -oE -e '--[a-z-]+')
    done
}
check "units name programs and flags that there are" units_start_what_is_there
# shellcheck disable=SC2317
trains() {
    "$at/pcp" model gpt2 --layers 1 --heads 1 --width 16 --block 8 --vocab 256 --batch 2 >"$work/m.mlir" &&
        head -c 20000 docs/ARCHITECTURE.md >"$work/text" &&
        (cd "$work" && "$at/pcp" train m.mlir --data text --tokenizer byte --workers 1 --inner-steps 2 --rounds 2 --run-dir run)
}
check "an installed pcp trains with the services beside it" trains

# --- libpcp, as a program of somebody else's finds it ---

export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
outside=$work/outside
mkdir "$outside"
cp examples/primitive.c "$outside"
# shellcheck disable=SC2317 # called by check
builds_shared() {
    # shellcheck disable=SC2046 # words
    (cd "$outside" && cc -o shared primitive.c $(pkg-config --cflags --libs pcp)) &&
        LD_LIBRARY_PATH=$root/usr/lib "$outside/shared" | grep -q 'turned: tensor<2x3xf32>'
}
# The static library holds all that is PCP's; a program may have functions of the names that we use inside.
# shellcheck disable=SC2317
builds_static() {
    printf 'int str_add(void); int str_add(void) { return 1; }\n' >"$outside/mine.c"
    # shellcheck disable=SC2046
    (cd "$outside" && cc -o static primitive.c mine.c $(pkg-config --cflags pcp) "$root/usr/lib/libpcp.a" \
        $(PKG_CONFIG_SYSROOT_DIR='' pkg-config --static --libs pcp | sed 's/-lpcp//')) &&
        ! ldd "$outside/static" | grep libpcp.so && "$outside/static" | grep -q 'turned: tensor<2x3xf32>'
}
# shellcheck disable=SC2317
builds_cpp() {
    printf '#include <pcp/pcp.h>\n#include <cstdio>\nint main() { std::puts(pcp_version_text()); return pcp_memory_in_use() != 0; }\n' \
        >"$outside/main.cpp"
    # shellcheck disable=SC2046
    (cd "$outside" && g++ -o cpp main.cpp $(pkg-config --cflags --libs pcp)) &&
        [ "$(LD_LIBRARY_PATH=$root/usr/lib "$outside/cpp")" = "$(cat VERSION)" ]
}
check "pkg-config knows libpcp's version" test "$(pkg-config --modversion pcp)" = "$(cat VERSION)"
check "a program builds and runs with what pkg-config says" builds_shared
check "and with the static library" builds_static
if command -v g++ >/dev/null; then
    check "and in C++" builds_cpp
else
    skip "and in C++" "no g++"
fi

if [ "${PCP_TEST_DEPLOY:-}" != 1 ]; then
    skip "the Debian package" "set PCP_TEST_DEPLOY=1"
else
    clean=$work/clean
    # shellcheck disable=SC2317
    clean_up() {
        ! mountpoint -q "$clean/proc" || umount "$clean/proc"
        rm -rf --one-file-system "$work"
    }
    at_exit clean_up
    # shellcheck disable=SC2317
    installs() {
        mmdebstrap --variant=minbase --include=ca-certificates bookworm "$clean" && mount -t proc proc "$clean/proc" &&
            cp "$work"/deb/*.deb "$clean/tmp/" && cp "$work/m.mlir" "$work/text" "$clean/tmp/" &&
            chroot "$clean" sh -c 'apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb'
    }
    check "the package is built" scripts/package "$work/deb"
    check "installs in a clean Debian" installs
    check "has one version" sh -c "chroot '$clean' pcp --version | grep -q \"\$(cat VERSION)\""
    check "has a user for its services" chroot "$clean" getent passwd pcp
    check "trains there" chroot "$clean" sh -c \
        'cd /tmp && pcp train m.mlir --data text --tokenizer byte --workers 1 --inner-steps 2 --rounds 2 --run-dir run'
    check "and is removed" chroot "$clean" apt-get purge -y planetary-compute
fi
tap_done
