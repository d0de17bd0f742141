import assert from "node:assert/strict";
import { test } from "node:test";
import { type Flags, parseFlags } from "#cli/flags.ts";
import { staticPod } from "#kubelet/static-pods/static-pod.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { apiserverFlags } from "../alone/apiserver-flags.ts";
import { controllerManagerFlags } from "../commands/controller-manager.ts";
import { schedulerFlags } from "../commands/scheduler.ts";
import { type ControlPlaneManifestOptions, controlPlaneManifests } from "./manifests.ts";

const folder = "/var/lib/knarr/a";
const options: ControlPlaneManifestOptions = {
  image: "knarr.local/control-plane:1",
  address: "172.31.0.10",
  port: 6443,
  serviceRange: "10.96.0.0/16",
  paths: {
    certificates: `${folder}/pki`,
    kubeconfigs: `${folder}/kubeconfigs`,
    encryption: `${folder}/encryption.yaml`,
  },
  store: { is: "embedded", folder: `${folder}/store` },
  apiserverFlags: ["--runtime-config=api/all=true"],
};
const podsOf = (more: Partial<ControlPlaneManifestOptions> = {}) =>
  [...controlPlaneManifests({ ...options, ...more })].map(([name, pod]) =>
    staticPod(Buffer.from(printYaml(pod)), { path: `${name}.yaml`, node: "node-1", now: 0 }),
  );
const flagsOf: Readonly<Record<string, Flags>> = {
  "kube-apiserver": apiserverFlags,
  "kube-controller-manager": controllerManagerFlags,
  "kube-scheduler": schedulerFlags,
};

test("each part of the control plane is a valid static pod, whose flags its program takes", () => {
  const pods = podsOf();
  assert.deepEqual(
    pods.map(({ metadata }) => metadata.name),
    ["kube-apiserver-node-1", "kube-controller-manager-node-1", "kube-scheduler-node-1"],
  );
  for (const { spec } of pods) {
    const [program = "", ...args] = spec.containers[0]?.command ?? [];
    assert.deepEqual(parseFlags(flagsOf[program] ?? {}, args).rest, []);
    assert.equal(spec.hostNetwork, true);
  }
});

test("a part sees the files that its flags name, and of others' keys none", () => {
  for (const { metadata, spec } of podsOf()) {
    const [container] = spec.containers;
    const seen = (container?.volumeMounts ?? []).map(({ mountPath }) => mountPath);
    for (const arg of container?.command ?? []) {
      const [, path] = /=(\/.*)$/.exec(arg) ?? [];
      if (path !== undefined)
        assert.ok(
          seen.some((mount) => path === mount || path.startsWith(`${mount}/`)),
          `${metadata.name}: ${arg}`,
        );
    }
  }
  const scheduler = podsOf()
    .at(-1)
    ?.spec.volumes?.map(({ hostPath }) => hostPath?.path);
  assert.deepEqual(scheduler, [`${folder}/kubeconfigs/scheduler`]);
});

test("with an etcd of its own there is a fourth pod, and the API server shares no processes with the machine", () => {
  const member = { image: "knarr.local/etcd:1", folder: `${folder}/etcd`, args: ["--name=node-1"], clientPort: 2379 };
  const [etcd, server] = podsOf({
    store: { is: "etcd", servers: ["https://172.31.0.10:2379"], files: { "etcd-cafile": "/ca.crt" }, member },
  });
  assert.deepEqual(etcd?.spec.containers[0]?.command, ["etcd", "--name=node-1"]);
  assert.ok(server?.spec.containers[0]?.command?.includes("--etcd-servers=https://172.31.0.10:2379"));
  assert.deepEqual(
    [podsOf()[0], server].map((pod) => pod?.spec.hostPID ?? false),
    [true, false],
  );
});
