// A cluster without our pod network: its node waits for a plugin of somebody else, which a DaemonSet brings as Flannel's does. Here it is made
// of the reference plugins: a bridge, host ports and limits of bandwidth.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { runProgram } from "#base/host/run-program.ts";
import { claimRanges } from "../machine/claim.ts";
import { Machine } from "./machine.ts";

const needed = ["/usr/bin/containerd", "/usr/sbin/runc", "/usr/sbin/ip", "/usr/sbin/nft", "/usr/lib/cni/bandwidth"];
const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make nodes"
    : needed.some((path) => !existsSync(path))
      ? `one of ${needed.join(", ")} is not installed`
      : false;

const { signal } = new AbortController();
const patienceMs = 180_000;

const networkOf = (subnet: string, state: string) =>
  JSON.stringify({
    cniVersion: "0.4.0",
    name: "foreign",
    plugins: [
      {
        type: "bridge",
        bridge: "foreign0",
        isGateway: true,
        hairpinMode: true,
        mtu: 1400,
        ipam: { type: "host-local", dataDir: state, ranges: [[{ subnet }]], routes: [{ dst: "0.0.0.0/0" }] },
      },
      { type: "portmap", capabilities: { portMappings: true } },
      { type: "bandwidth", capabilities: { bandwidth: true } },
    ],
  });

/** Writes the configuration into the folder of its own node, under another name first: containerd may be reading. */
const plugin = (nodes: string, network: string) => `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: network, namespace: kube-system}
spec:
  selector: {matchLabels: {app: network}}
  template:
    metadata: {labels: {app: network}}
    spec:
      hostNetwork: true
      tolerations: [{operator: Exists, effect: NoSchedule}]
      terminationGracePeriodSeconds: 0
      containers:
      - name: network
        image: knarr.local/busybox:1.0
        command: [sh, -c, 'echo "$NETWORK" > /cni/new && mv /cni/new /cni/10-foreign.conflist && sleep 36000']
        env:
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: NETWORK, value: '${network}'}
        volumeMounts: [{name: nodes, mountPath: /cni, subPathExpr: $(NODE)/cni}]
      volumes: [{name: nodes, hostPath: {path: ${nodes}}}]
`;

const pods = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {kubernetes.io/ingress-bandwidth: 8M, kubernetes.io/egress-bandwidth: 8M}
  labels: {app: web}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: nginx, image: knarr.local/nginx:1.0, ports: [{containerPort: 80, hostPort: 8088}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: knarr.local/busybox:1.0, command: [sleep, "3600"]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`;

test("a node without a network waits for one, and runs pods on that of another plugin", {
  skip: impossible,
}, async () => {
  const name = `cni-${process.pid}`;
  await using machine = new Machine();
  const kubectl = (...args: readonly string[]) => machine.kubectl(...args);
  const apply = async (text: string) => {
    writeFileSync(join(machine.home, "objects.yaml"), text);
    await kubectl("apply", `--filename=${join(machine.home, "objects.yaml")}`);
  };
  const ready = "jsonpath={.items[0].status.conditions[?(@.type=='Ready')].message}";
  try {
    const ranges = claimRanges("cni");
    const said = await machine.ok(
      ...["up", `--name=${name}`, "--no-network", "--no-egress", "--addons=none", "--port=0", "--no-install"],
      ...["--timeout=5m", `--node-range=${ranges.nodeRange}`, `--cluster-cidr=${ranges.podRange}`],
      ...[`--service-cluster-ip-range=${ranges.serviceRange}`, `--load-balancer-range=${ranges.loadBalancerRange}`],
    );
    assert.match(said, /1 node there; a network plugin has to make them ready/);
    await until(
      () => kubectl("get", "nodes", "--output", ready),
      (text) => /NetworkReady=false reason:NetworkPluginNotReady message:.*cni plugin not initialized/.test(text),
    );
    await apply(pods);
    const subnet = await kubectl("get", "nodes", "--output=jsonpath={.items[0].spec.podCIDR}");
    const nodes = join(machine.clusters, name, "nodes");
    await apply(plugin(nodes, networkOf(subnet, join(nodes, "node-1", "cni-state"))));
    await kubectl("wait", "--for=condition=Ready", "node/node-1", "--timeout=180s");
    await kubectl("wait", "--for=condition=Ready", "pod/web", "pod/client", "--timeout=180s");

    const inside = (...command: readonly string[]) => kubectl("exec", "client", "--", ...command);
    const node = await kubectl("get", "nodes", "--output=jsonpath={.items[0].status.addresses[0].address}");
    const pod = await kubectl("get", "pod", "web", "--output=jsonpath={.status.podIP}");
    for (const place of [pod, "web.default", `${node}:8088`])
      await until(
        () => inside("wget", "-qO-", "-T5", `http://${place}/`),
        (text) => text.includes("Welcome"),
      );
    assert.match(await inside("ip", "link", "show", "eth0"), / mtu 1400 /);
    const inNode = (...command: readonly string[]) =>
      runProgram(["nsenter", `--net=/run/netns/knarr-${name}-node-1`, ...command]);
    assert.match(await inNode("tc", "qdisc"), /qdisc tbf .* rate 8Mbit/);
    // A pod reaches itself through its service: the bridge sends a packet back where it came from.
    await until(
      () => kubectl("exec", "web", "--", "wget", "-qO-", "-T5", "http://web.default/").catch(() => ""),
      (text) => text.includes("Welcome"),
    );
  } finally {
    await machine.knarr("down", `--name=${name}`);
  }
  assert.ok(!existsSync(`/run/netns/knarr-${name}-node-1`));
});

async function until(ask: () => Promise<string>, isRight: (answer: string) => boolean): Promise<void> {
  const end = systemClock.elapsed() + patienceMs;
  for (;;) {
    const answer = await ask().catch((error: Error) => error.message);
    if (isRight(answer)) return;
    if (systemClock.elapsed() > end) throw new Error(`it did not come to that: ${answer}`);
    await systemClock.sleep(100, signal);
  }
}
