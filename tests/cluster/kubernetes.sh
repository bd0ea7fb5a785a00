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
# Lines "WORKLOAD IMAGE KEY ITEMS": of each container of ours its --key, and the items of the Secret pcp-keys that its pod
# mounts, "-" for none.
keys() {
    /usr/bin/python3 -c '
import sys, yaml
for one in yaml.safe_load_all(open(sys.argv[1])):
    spec = one.get("spec") or {}
    spec = spec.get("jobTemplate", {}).get("spec") or spec
    pod = (spec.get("template") or {}).get("spec") or {}
    for container in pod.get("containers", []):
        if not container["image"].startswith("pcp-"):
            continue
        args, at, items = container.get("args") or [], {m["name"]: m["mountPath"] for m in container["volumeMounts"]}, []
        for volume in pod.get("volumes", []):
            secret = volume.get("secret") or {}
            if secret.get("secretName") == "pcp-keys":
                items += ["%s/%s" % (at[volume["name"]], i["path"]) for i in secret.get("items") or [{"path": "ALL"}]]
        if "--insecure" in args:
            items.append("INSECURE")
        key = args[args.index("--key") + 1] if "--key" in args else "-"
        print(one["metadata"]["name"], container["image"], key, ",".join(items) or "-")' "$work/$1.yaml"
}
# Members have the key of their role and no other, who is no member has none.
# shellcheck disable=SC2317
has_its_key() {
    local name image key items role n=0
    while read -r name image key items; do
        role=${image#pcp-} n=$((n + 1))
        case $role in
        pcp | gateway) [ "$key $items" = '- -' ] || { echo "$name: $key $items"; return 1; } ;;
        *) [ "$key $items" = "/etc/pcp/keys/$role.key /etc/pcp/keys/$role.key" ] || { echo "$name: $key $items"; return 1; } ;;
        esac
    done < <(keys "$1")
    [ "$n" -ge 6 ]
}
# An overlay of somebody's own with the component that lets readers in.
# shellcheck disable=SC2317
renders_page() {
    mkdir -p build/with-page && cat >build/with-page/kustomization.yaml <<'END' || return 1
resources: [../../deploy/k8s/overlays/prod]
components: [../../deploy/k8s/components/page]
namespace: pcp
END
    kubectl kustomize build/with-page >"$work/page.yaml"
}
# shellcheck disable=SC2317
page_is_reached() { # the Ingress names a Service and a port that there are, and the policy lets it through
    /usr/bin/python3 -c '
import sys, yaml
objects = {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(open(sys.argv[1])) if o}
path = objects["Ingress", "pcp-page"]["spec"]["rules"][0]["http"]["paths"][0]
service = objects["Service", path["backend"]["service"]["name"]]["spec"]
port = [p for p in service["ports"] if p["name"] == path["backend"]["service"]["port"]["name"]][0]
pod = objects["Deployment", "pcp-metrics"]["spec"]["template"]
assert service["selector"].items() <= pod["metadata"]["labels"].items()
named = [p["containerPort"] for c in pod["spec"]["containers"] for p in c["ports"] if p["name"] == port["targetPort"]]
assert named == [9465], named
policy = objects["NetworkPolicy", "pcp-page"]["spec"]
assert policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
assert policy["ingress"][0]["ports"][0]["port"] == port["targetPort"] and policy["ingress"][0]["from"]' "$work/page.yaml"
}
# The same with the gateway, whose runs are named there.
# shellcheck disable=SC2317
renders_gateway() {
    mkdir -p build/with-gateway && cat >build/with-gateway/kustomization.yaml <<'END' || return 1
resources: [../../deploy/k8s/overlays/prod]
components: [../../deploy/k8s/components/gateway, ../../deploy/k8s/components/gateway-ingress]
namespace: pcp
patches:
  - patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: pcp-gateway}, data: {PCP_MODEL: mine=run/mine}}'
END
    kubectl kustomize build/with-gateway >"$work/gateway.yaml"
}
# From the Ingress to a port at which it listens; the policy lets that through; it reads runs and tokens, and writes its cache.
# shellcheck disable=SC2317
gateway_is_reached() {
    /usr/bin/python3 -c '
import sys, yaml
objects = {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(open(sys.argv[1])) if o}
backend = objects["Ingress", "pcp-gateway"]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
service = objects["Service", backend["name"]]["spec"]
port = [p for p in service["ports"] if p["name"] == backend["port"]["name"]][0]
template = objects["Deployment", "pcp-gateway"]["spec"]["template"]
labels, pod = template["metadata"]["labels"], template["spec"]
container, = pod["containers"]
args = dict(zip(container["args"], container["args"][1:]))
named = [p["containerPort"] for p in container["ports"] if p["name"] == port["targetPort"]]
assert args["--http"] == "0.0.0.0:%d" % named[0], args
assert service["selector"].items() <= labels.items()
policy = objects["NetworkPolicy", "pcp-gateway"]["spec"]
assert policy["podSelector"]["matchLabels"].items() <= labels.items()
assert policy["ingress"][0]["ports"][0]["port"] == port["targetPort"]
assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": port["targetPort"]}
at = {m["mountPath"]: (m["name"], bool(m.get("readOnly"))) for m in container["volumeMounts"]}
volumes = {v["name"]: v for v in pod["volumes"]}
run, read_only = at["/var/lib/pcp/run"]
claim = volumes[run]["persistentVolumeClaim"]["claimName"]
assert read_only and ("PersistentVolumeClaim", claim) in objects
folder, _, file = args["--tokens"].rpartition("/")
secret = volumes[at[folder][0]]["secret"]
assert file in [i["path"] for i in secret["items"]] and secret["defaultMode"] & 0o37 == 0, secret # or it is refused
assert "--insecure" not in container["args"]
cache, = [e["value"] for e in container["env"] if e["name"] == "XDG_CACHE_HOME"]
assert not at[cache][1] and not at["/tmp"][1] # the compiler writes there
assert {"configMapRef": {"name": "pcp-gateway"}} in container["envFrom"]
assert objects["ConfigMap", "pcp-gateway"]["data"]["PCP_MODEL"] == "mine=run/mine"
assert pod["terminationGracePeriodSeconds"] > 30' "$work/gateway.yaml"
}
# The gateway and members: they reach its port, which shows a key of its own, as they show theirs.
# shellcheck disable=SC2317
renders_inference() {
    mkdir -p build/with-inference && cat >build/with-inference/kustomization.yaml <<'END' || return 1
resources: [../../deploy/k8s/overlays/prod]
components: [../../deploy/k8s/components/gateway, ../../deploy/k8s/components/inference]
namespace: pcp
patches:
  - patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: pcp-inference}, data: {PCP_JOIN: "tcp://pcp-gateway:8100?key=00"}}'
END
    kubectl kustomize build/with-inference >"$work/inference.yaml"
}
# shellcheck disable=SC2317
members_reach_it() {
    /usr/bin/python3 -c '
import sys, yaml
objects = {(o["kind"], o["metadata"]["name"]): o for o in yaml.safe_load_all(open(sys.argv[1])) if o}
def pod(name):
    template = objects["Deployment", name]["spec"]["template"]
    return template["metadata"]["labels"], template["spec"]
def secret_at(spec, path):
    folder, _, file = path.rpartition("/")
    mount, = [m for m in spec["containers"][0]["volumeMounts"] if m["mountPath"] == folder]
    secret, = [v["secret"] for v in spec["volumes"] if v["name"] == mount["name"]]
    assert mount["readOnly"] and [file] == [i["path"] for i in secret["items"]] and secret["defaultMode"] & 0o37 == 0, secret
    return secret["secretName"]
labels, gateway = pod("pcp-gateway")
args = dict(zip(gateway["containers"][0]["args"], gateway["containers"][0]["args"][1:]))
port, = [p for p in gateway["containers"][0]["ports"] if p["name"] == "members"]
assert args["--members"] == "tcp://0.0.0.0:%d" % port["containerPort"], args
assert secret_at(gateway, args["--key"]) == "pcp-keys"
service, = [p for p in objects["Service", "pcp-gateway"]["spec"]["ports"] if p["name"] == "members"]
mine, member = pod("pcp-inference")
container, = member["containers"]
assert secret_at(member, container["args"][container["args"].index("--key") + 1]) == "pcp-keys"
assert {"configMapRef": {"name": "pcp-inference"}} in container["envFrom"]
join = objects["ConfigMap", "pcp-inference"]["data"]["PCP_JOIN"]
assert join == "tcp://pcp-gateway:%d?key=00" % service["port"] and service["targetPort"] == "members", join
rule, = [r for r in objects["NetworkPolicy", "pcp-gateway"]["spec"]["ingress"] if r["ports"][0]["port"] == "members"]
assert rule["from"][0]["podSelector"]["matchLabels"].items() <= mine.items()
assert "--insecure" not in container["args"] + gateway["containers"][0]["args"]
assert member["terminationGracePeriodSeconds"] > 30' "$work/inference.yaml"
}
# Whose number an autoscaler decides has none here, or applying again would take away what is at work.
# shellcheck disable=SC2317
leaves_scaling_alone() {
    /usr/bin/python3 -c '
import sys, yaml
objects = [o for o in yaml.safe_load_all(open(sys.argv[1])) if o]
scaled = [o["spec"]["scaleTargetRef"]["name"] for o in objects if o["kind"] in ("HorizontalPodAutoscaler", "ScaledObject")]
assert scaled
for one in objects:
    assert one["kind"] != "Deployment" or one["metadata"]["name"] not in scaled or "replicas" not in one["spec"], one["metadata"]' "$work/$1.yaml"
}
overlays=(dev prod gpu)
for overlay in "${overlays[@]}"; do
    check "overlay $overlay renders" renders "$overlay"
    check "its containers start programs and flags that there are" starts_what_is_there "$overlay"
    check "have the key of their role and no other" has_its_key "$overlay"
    check "and are confined" is_confined "$overlay"
    check "and what is scaled has no number" leaves_scaling_alone "$overlay"
done
check "with the component of the page, too" renders_page
check "which reaches the page" page_is_reached
overlays+=(page)
check "with the component of the gateway" renders_gateway
check "its containers start programs and flags that there are" starts_what_is_there gateway
check "have the key of their role and no other" has_its_key gateway
check "and are confined" is_confined gateway
check "which reaches the gateway, as it reaches runs and tokens" gateway_is_reached
overlays+=(gateway)
check "with the component of its members" renders_inference
check "their containers start programs and flags that there are" starts_what_is_there inference
check "and are confined" is_confined inference
check "and reach the gateway, each with a key" members_reach_it
overlays+=(inference)

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
