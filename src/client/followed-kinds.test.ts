import assert from "node:assert/strict";
import { test } from "node:test";
import { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from "#api/autoscaling/v1/horizontal-pod-autoscaler.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Secret } from "#api/core/v1/secret.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { Occasion } from "./discovery.ts";
import { FollowedKinds } from "./followed-kinds.ts";

const nothingFailed: readonly string[] = [];

/** What is begun and ended by a row of discoveries, each said by its kinds, the versions that failed, and why it was made. */
function history(...discoveries: (readonly [kinds: AnyKind[], failed?: readonly string[], occasion?: Occasion])[]) {
  const log: string[] = [];
  const followed = new FollowedKinds<AnyKind>({
    isWanted: (kind) => kind !== Secret,
    begin(kind) {
      log.push(`+${kind.apiVersion} ${kind.plural}`);
      return kind;
    },
    end: (kind) => void log.push(`-${kind.apiVersion} ${kind.plural}`),
  });
  for (const [kinds, failed = nothingFailed, occasion = "time"] of discoveries)
    followed.update({ kinds, failures: new Map(failed.map((one) => [one, new Error("no answer")])) }, occasion);
  return { log, left: followed.values().map(({ apiVersion, plural }) => `${apiVersion} ${plural}`) };
}

const v1 = HorizontalPodAutoscalerV1;
const v2 = HorizontalPodAutoscaler;
const scalers = (version: string) => `autoscaling/${version} horizontalpodautoscalers`;

test("of several versions the preferred one is followed, and kinds that nobody wants are not", () => {
  assert.deepEqual(history([[v2, v1, Secret]]).left, [scalers("v2")]);
});

test("a kind is begun once and ended when it is gone, but only when it is time to look", () => {
  const both = [ConfigMap, v2];
  assert.deepEqual(history([both], [both]).log, ["+v1 configmaps", `+${scalers("v2")}`]);
  assert.deepEqual(history([both], [[v2], [], "change"]).left, ["v1 configmaps", scalers("v2")]);
  assert.deepEqual(history([both], [[v2], [], "change"], [[v2]]).left, [scalers("v2")]);
});

test("a kind that is served in another version is followed in that one at once", () => {
  assert.deepEqual(history([[v1]], [[v2], [], "change"]).log, [
    `+${scalers("v1")}`,
    `-${scalers("v1")}`,
    `+${scalers("v2")}`,
  ]);
});

test("what is known of a group that does not answer stays, and so does everything when nothing is told", () => {
  assert.deepEqual(history([[ConfigMap, v2]], [[ConfigMap], ["autoscaling/v2"]]).left, [
    "v1 configmaps",
    scalers("v2"),
  ]);
  assert.deepEqual(history([[ConfigMap]], [[]]).left, ["v1 configmaps"]);
});
