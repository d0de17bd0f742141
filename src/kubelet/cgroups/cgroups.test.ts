import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Draft } from "#schema/infer.ts";
import { Hierarchy } from "../host/cgroups/hierarchy.ts";
import { podOf } from "../testing.ts";
import { oomScore, podLimits } from "./limits.ts";
import { podGroup } from "./tree.ts";

const containers = (...resources: object[]) => ({
  containers: resources.map((one, i) => ({ name: `c${i}`, image: "i", resources: one })),
});
const limited = { requests: { cpu: "250m", memory: "64Mi" }, limits: { cpu: "500m", memory: "128Mi" } };

test("a pod may have what its containers may have, if each of them is limited", () => {
  const table: readonly [Draft<PodSpec>, object][] = [
    [containers({}), { cpuShares: 2 }],
    [containers(limited, limited), { cpuShares: 512, cpuQuota: 100_000, memoryBytes: 2 ** 28 }],
    [containers(limited, {}), { cpuShares: 256 }],
    [
      { ...containers({}), resources: { requests: { cpu: "1" }, limits: { cpu: "2", memory: "1Gi" } } },
      { cpuShares: 1024, cpuQuota: 200_000, memoryBytes: 2 ** 30 },
    ],
    [
      containers({ limits: { cpu: "1", memory: "1Gi", "hugepages-1Gi": "2Gi" }, requests: { "hugepages-1Gi": "2Gi" } }),
      { cpuShares: 1024, cpuQuota: 100_000, memoryBytes: 2 ** 30, hugepages: [{ pageSize: "1GB", limit: 2 ** 31 }] },
    ],
  ];
  for (const [spec, expected] of table)
    assert.deepEqual(podLimits(podOf(spec), undefined), { hugepages: [], ...expected }, JSON.stringify(spec));
  assert.equal(podLimits(podOf(), 100).pids, 100);
  assert.equal(podLimits(podOf(), -1).pids, undefined);
});

test("the group of a pod says of which class it is", () => {
  const group = (spec: Draft<PodSpec>) => podGroup("/knarr/c/n1", podOf(spec));
  const full = { requests: { cpu: "1", memory: "1Mi" }, limits: { cpu: "1", memory: "1Mi" } };
  assert.equal(group(containers({})), "/knarr/c/n1/kubepods/besteffort/podu1");
  assert.equal(group(containers(limited)), "/knarr/c/n1/kubepods/burstable/podu1");
  assert.equal(group(containers(full)), "/knarr/c/n1/kubepods/podu1");
});

test("a sidecar is not killed before the containers it serves", () => {
  const pod = podOf({
    ...containers({ requests: { memory: "2Gi" } }, { requests: { memory: "1Gi" } }),
    initContainers: [{ name: "side", image: "i", restartPolicy: "Always", resources: { requests: { memory: "1Mi" } } }],
  });
  const [side, first, second] = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  assert.ok(side && first && second);
  const scores = [side, first, second].map((one) => oomScore(pod, one, 4 * 2 ** 30));
  assert.deepEqual(scores, [750, 500, 750]);
});

test("groups of the second version get weights and maxima, and controllers from above", async () => {
  const root = mkdtempSync(join(tmpdir(), "knarr-cgroups-"));
  const places = ["", "knarr", "knarr/pods", "knarr/pods/poda"];
  for (const place of places) {
    mkdirSync(join(root, place), { recursive: true });
    writeFileSync(join(root, place, "cgroup.controllers"), "cpu memory pids\n");
    writeFileSync(join(root, place, "cgroup.subtree_control"), place === "" ? "cpu memory\n" : "\n");
  }
  const hierarchy = new Hierarchy([{ path: root, type: "cgroup2", options: "rw" }]);
  assert.equal(hierarchy.isUnified, true);
  await hierarchy.set("/knarr/pods/poda", { cpuShares: 1024, cpuQuota: 50_000, memoryBytes: 4096, pids: 10 });
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  assert.deepEqual(
    ["cpu.weight", "cpu.max", "memory.max", "pids.max"].map((file) => read(`knarr/pods/poda/${file}`)),
    ["39", "50000 100000", "4096", "10"],
  );
  assert.deepEqual(
    places.map((place) => read(`${place}/cgroup.subtree_control`)),
    ["+pids", "+cpu +memory +pids", "+cpu +memory +pids", "+cpu +memory +pids"],
  );
  assert.deepEqual(await hierarchy.below("/knarr/pods"), ["poda"]);
  assert.ok(existsSync(join(root, "knarr")));
  rmSync(root, { recursive: true });
});
