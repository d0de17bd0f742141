import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { seededRandom } from "#base/random.ts";
import { world } from "#client/testing.ts";
import { isReachable, smallestVolumeFor, volumeBytes } from "#rules/volumes.ts";
import { VolumeCandidates } from "./volume-candidates.ts";

const hosts = ["a", "b", "c"];
const nodes = hosts.map((host) => ({
  name: `node-${host}`,
  labels: { "kubernetes.io/hostname": host, zone: host === "a" ? "x" : "y" },
}));

test("what a node finds among the candidates is what it would find among all volumes, in 300 random clusters", () => {
  const random = seededRandom(3);
  const below = (count: number) => Math.floor(random.next() * count);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)]!;
  const w = world();
  let found = 0;
  for (let i = 0; i < 300; i++) {
    const affinities = [
      undefined,
      { key: "kubernetes.io/hostname", operator: "In" as const, values: [pick(hosts)] },
      { key: "kubernetes.io/hostname", operator: "In" as const, values: ["a", pick(hosts)] },
      { key: "kubernetes.io/hostname", operator: "NotIn" as const, values: [pick(hosts)] },
      { key: "zone", operator: "In" as const, values: ["y"] },
    ];
    const volumes = Array.from({ length: below(7) }, (_, j) => {
      const terms = [pick(affinities), ...(below(4) === 0 ? [pick(affinities)] : [])].filter(
        (one) => one !== undefined,
      );
      return w.have(PersistentVolume, {
        metadata: { name: `v${i}-${j}` },
        spec: {
          capacity: { storage: `${1 + below(5) * 10 + j}Gi` },
          accessModes: ["ReadWriteOnce"],
          ...(below(8) === 0 && { claimRef: { namespace: "default", name: pick(["data", "other"]) } }),
          ...(terms.length > 0 && {
            nodeAffinity: { required: { nodeSelectorTerms: terms.map((one) => ({ matchExpressions: [one] })) } },
          }),
        },
        status: { phase: pick(["Available", "Available", "Available", "Released"] as const) },
      });
    });
    const claim = w.have(PersistentVolumeClaim, {
      metadata: { name: "data", uid: `u${i}` },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: `${1 + below(30)}Gi` } } },
    });
    const candidates = new VolumeCandidates(claim, volumes);
    const taken = new Set(volumes.filter(() => below(6) === 0).map(({ metadata }) => metadata.name));
    for (const node of nodes) {
      const isUsable = (volume: PersistentVolume) => !taken.has(volume.metadata.name) && isReachable(volume, node);
      const expected = smallestVolumeFor(claim, volumes, isUsable);
      const actual = candidates.smallestOn(node, taken);
      assert.equal(actual && volumeBytes(actual), expected && volumeBytes(expected), JSON.stringify({ node, volumes }));
      if (expected) found++;
    }
  }
  assert.ok(found > 100, `only ${found} were found`);
});
