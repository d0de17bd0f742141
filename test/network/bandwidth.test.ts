// Limits of bandwidth by our CNI configuration, with the real plugins in namespaces made here: what containerd makes of the annotations
// kubernetes.io/ingress-bandwidth and egress-bandwidth reaches the kernel's queues.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cniConfig } from "../../src/cluster/machine/containerd-config.ts";

const folder = ["/usr/lib/cni", "/opt/cni/bin"].find((path) => existsSync(join(path, "bandwidth")));
const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make network namespaces"
    : folder === undefined
      ? "the CNI plugin bandwidth is not installed"
      : lacksQueues();

function lacksQueues(): string | false {
  try {
    const inside = "ip link add v0 type ifb && tc qdisc add dev v0 root tbf rate 1mbit burst 10000 latency 25ms";
    execFileSync("unshare", ["--net", "sh", "-c", inside], { stdio: "pipe" });
    return false;
  } catch (error) {
    return `the kernel has no ifb or no tbf: ${error instanceof Error ? error.message : String(error)}`;
  }
}

test("the pod network limits the bandwidth of pods that ask for it", { skip: impossible }, () => {
  const state = mkdtempSync(join(tmpdir(), "knarr-bandwidth-"));
  const [node, pod] = ["node", "pod"].map((name) => `knarr-bw-${process.pid}-${name}`) as [string, string];
  const inside = (netns: string, command: readonly string[], options: object = {}) =>
    execFileSync("ip", ["netns", "exec", netns, ...command], { encoding: "utf8", ...options });
  const config = JSON.parse(cniConfig(["10.244.7.0/24"], state)) as { plugins: { type: string }[] };
  const plugin = (type: string, prevResult: object | undefined, runtimeConfig: object) => {
    const input = JSON.stringify({
      cniVersion: "0.4.0",
      name: "knarr",
      ...config.plugins.find((one) => one.type === type),
      ...(prevResult && { prevResult }),
      runtimeConfig,
    });
    const env = {
      ...process.env,
      ...{ CNI_COMMAND: "ADD", CNI_CONTAINERID: pod, CNI_NETNS: `/run/netns/${pod}`, CNI_IFNAME: "eth0" },
      CNI_PATH: folder,
    };
    return JSON.parse(inside(node, [join(folder ?? "", type)], { input, env })) as object;
  };
  try {
    for (const name of [node, pod]) execFileSync("ip", ["netns", "add", name]);
    const made = plugin("ptp", undefined, {});
    // 800 kbit/s into the pod, 400 out of it; a burst of one packet or two.
    const bandwidth = { ingressRate: 800_000, ingressBurst: 32_000, egressRate: 400_000, egressBurst: 32_000 };
    plugin("bandwidth", made, { bandwidth });
    const queues = inside(node, ["tc", "qdisc", "show"]);
    assert.match(queues, /qdisc tbf .* rate 800Kbit/);
    assert.match(queues, /qdisc tbf .* rate 400Kbit/);
    // More than the burst at once, in both directions: the queues delay what is beyond it.
    const send = (from: string, to: string) =>
      inside(from, ["sh", "-c", `head -c 60000 /dev/zero | timeout 1 bash -c 'cat > /dev/udp/${to}/9' || true`]);
    send(node, "10.244.7.2");
    send(pod, "10.244.7.1");
    const counted = inside(node, ["tc", "-s", "qdisc", "show"]);
    for (const rate of ["800Kbit", "400Kbit"])
      assert.match(
        counted,
        new RegExp(`rate ${rate}[^\\n]*\\n[^\\n]*overlimits [1-9]`),
        `the queue of ${rate} was full`,
      );
  } finally {
    const present = execFileSync("ip", ["netns", "list"], { encoding: "utf8" });
    for (const name of [pod, node]) if (present.includes(name)) execFileSync("ip", ["netns", "del", name]);
    rmSync(state, { recursive: true });
  }
});
