import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseFlags } from "#cli/flags.ts";
import { kubeletFlags } from "./kubelet-flags.ts";
import { kubeletSettings } from "./kubelet-settings.ts";

const settings = (...args: readonly string[]) => kubeletSettings(parseFlags(kubeletFlags, args).flags);

function withFile<T>(text: string, use: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "knarr-kubelet-"));
  try {
    writeFileSync(join(folder, "config.yaml"), text);
    return use(join(folder, "config.yaml"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** As kubeadm writes it, in parts. */
const configuration = (more = "") => `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: { enabled: false }
  webhook: { cacheTTL: 0s, enabled: true }
  x509: { clientCAFile: /etc/kubernetes/pki/ca.crt }
authorization: { mode: Webhook }
cgroupDriver: cgroupfs
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
evictionHard: { memory.available: 200Mi, nodefs.available: 5% }
healthzBindAddress: 127.0.0.1
healthzPort: 10248
maxPods: 30
registerWithTaints:
- { key: dedicated, value: gpu, effect: NoSchedule }
rotateCertificates: true
serverTLSBootstrap: true
shutdownGracePeriod: 0s
staticPodPath: /etc/kubernetes/manifests
${more}`;

test("a kubelet is configured by a KubeletConfiguration, and flags count before it", () => {
  withFile(configuration(), (file) => {
    const { maxPods, staticPodsFolder, dns, thresholds, taints, rotatesServer, clientCaFile, ignored } = settings(
      `--config=${file}`,
      "--max-pods=40",
      "--hostname-override=Node-A",
    );
    assert.deepEqual(
      { maxPods, staticPodsFolder, servers: dns.servers, taints, rotatesServer, clientCaFile },
      {
        maxPods: 40,
        staticPodsFolder: "/etc/kubernetes/manifests",
        servers: ["10.96.0.10"],
        taints: [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }],
        rotatesServer: true,
        clientCaFile: "/etc/kubernetes/pki/ca.crt",
      },
    );
    assert.equal(thresholds.memoryAvailableBytes, 200 * 2 ** 20);
    assert.equal(thresholds.nodeFsAvailable, 0.05);
    assert.equal(thresholds.imageFsAvailable, 0.15, "what is not said stays as it is usually");
    assert.ok(ignored.includes("shutdownGracePeriod"), "what has no effect is told");
  });
});

test("a kubelet names the field or the flag that it does not understand", () => {
  withFile(configuration("maxPodz: 1"), (file) =>
    assert.throws(() => settings(`--config=${file}`), /unknown field "maxPodz"/),
  );
  withFile(configuration("port: high"), (file) =>
    assert.throws(() => settings(`--config=${file}`), /port: expected int, got "high"/),
  );
  assert.throws(() => settings("--cgroup-driver=systemd"), /--cgroup-driver: "systemd" is not supported/);
  assert.throws(() => settings("--register-with-taints=a=b"), /is not KEY=VALUE:EFFECT/);
  assert.throws(() => settings("--node-labels=node-role.kubernetes.io/control-plane="), /may not give themselves/);
  assert.throws(() => settings("--hostname-override=a_b"), /--hostname-override: "a_b"/);
});

test("a kubelet takes labels and taints of flags, and is not a stranger's servant by default", () => {
  const { labels, taints, servesAnonymous, allowsAll, port, healthz } = settings(
    "--node-labels=disk=ssd,topology.kubernetes.io/zone=a",
    "--register-with-taints=alone=:NoExecute",
    "--register-schedulable=false",
  );
  assert.deepEqual(labels, { disk: "ssd", "topology.kubernetes.io/zone": "a" });
  assert.deepEqual(taints, [
    { key: "alone", effect: "NoExecute" },
    { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" },
  ]);
  assert.deepEqual(
    { servesAnonymous, allowsAll, port, healthz },
    {
      servesAnonymous: false,
      allowsAll: false,
      port: 10_250,
      healthz: { host: "127.0.0.1", port: 10_248 },
    },
  );
});
