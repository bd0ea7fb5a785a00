#!/usr/bin/env bash
# deploy/k8s: every overlay renders, its objects are valid, and its containers start programs and flags that there are.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap.bash

if ! command -v kubectl >/dev/null || ! kubectl kustomize --help >/dev/null 2>&1; then
    skip "overlays render" "no kubectl"
    tap_done
    exit
fi
# shellcheck disable=SC2317 # called by check
renders() { kubectl kustomize "deploy/k8s/overlays/$1" >"$work/$1.yaml" && [ -s "$work/$1.yaml" ]; }
# Lines "IMAGE FLAG" of a rendered overlay's own containers; "." for the container itself.
flags() {
    awk '
        function flush(   i) { if (image ~ /^pcp-/) for (i = 1; i <= n; i++) print image, flag[i]; n = 0; image = "" }
        /^kind: / || /^---/ { flush() }
        /^ +- args:$/ { flush(); flag[++n] = "."; in_args = 1; next }
        in_args && $1 == "-" { if ($2 ~ /^--/) flag[++n] = $2; next }
        { in_args = 0 }
        $1 == "image:" { image = $2 }
        END { flush() }' "$1"
}
# shellcheck disable=SC2317
starts_what_is_there() {
    local image flag n=0
    while read -r image flag; do
        [ -e "services/${image#pcp-}/main.c" ] || { echo "no image $image"; return 1; }
        [ "$flag" != . ] || continue
        case $image in
        pcp-shepherd) "$bin/pcp-shepherd" --cluster --help ;;
        *) "$bin/$image" --help ;;
        esac | grep -qE "^ *$flag( |\$)" || { echo "$image has no $flag"; return 1; }
        n=$((n + 1))
    done < <(flags "$work/$1.yaml")
    [ "$n" -ge 14 ] || { echo "only $n flags"; return 1; }
}
# What runs as nobody in particular, writes nowhere but in its volumes, and is asked how it is.
# shellcheck disable=SC2317
is_confined() {
    local n
    n=$(grep -cE '^ +(- )?image: pcp-' "$work/$1.yaml")
    [ "$(grep -c 'readOnlyRootFilesystem: true' "$work/$1.yaml")" -eq "$n" ] &&
        [ "$(grep -c 'allowPrivilegeEscalation: false' "$work/$1.yaml")" -eq "$n" ] &&
        [ "$(grep -c 'runAsNonRoot: true' "$work/$1.yaml")" -eq "$n" ] &&
        [ "$(grep -c 'livenessProbe:' "$work/$1.yaml")" -eq $((n - $(grep -cE '^kind: (Cron)?Job$' "$work/$1.yaml"))) ] # these end by themselves
}
overlays=(dev prod gpu)
for overlay in "${overlays[@]}"; do
    check "overlay $overlay renders" renders "$overlay"
    check "its containers start programs and flags that there are" starts_what_is_there "$overlay"
    check "and are confined" is_confined "$overlay"
done

# The schema comes from the npm registry, once; without it this part is skipped.
schema=build/kubernetes
# shellcheck disable=SC2317
fetch() {
    mkdir -p "$schema" && cp tests/tools/kubernetes/* "$schema" && cd "$schema" || return 1
    cmp -s package-lock.json node_modules/.fetched ||
        { timeout 120 npm ci --no-audit --no-fund && cp package-lock.json node_modules/.fetched; }
}
# shellcheck disable=SC2317
refuses() { ! sed "$1" "$work/prod.yaml" | node "$schema/validate.mjs"; }
if command -v node >/dev/null && (fetch >"$work/npm" 2>&1); then
    for overlay in "${overlays[@]}"; do
        check "objects of $overlay are valid" sh -c "node '$schema/validate.mjs' <'$work/$overlay.yaml'"
    done
    check "wrong ones are refused" refuses 's/minReplicas: 1/minReplicas: one/'
    check "and kinds that do not exist" refuses 's/kind: Deployment/kind: Deploymend/'
else
    skip "objects are valid" "no node, or no npm registry"
fi
tap_done
