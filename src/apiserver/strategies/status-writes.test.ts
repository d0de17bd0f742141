// What a write through `status` can change, kind by kind, as upstream's status strategies have it (pkg/registry/*/*/strategy.go).
import assert from "node:assert/strict";
import { test } from "node:test";
import { catalog } from "#api/catalog.ts";
import { ManualClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import { prepareForStatusUpdate } from "../registry/prepare.ts";
import { testUser } from "../testing.ts";
import { strategyOf } from "./list.ts";

/** Fields of metadata that stay as they were. All kinds keep everything beside metadata and status. */
const everything = ["labels", "annotations", "finalizers", "ownerReferences"];
const kept: Readonly<Record<string, readonly string[]>> = {
  "admissionregistration.k8s.io/validatingadmissionpolicies": everything,
  "apiextensions.k8s.io/customresourcedefinitions": [],
  "apiregistration.k8s.io/apiservices": everything,
  "apps/daemonsets": [],
  "apps/deployments": ["labels"],
  "apps/replicasets": [],
  "apps/statefulsets": [],
  "autoscaling/horizontalpodautoscalers": [],
  "batch/cronjobs": [],
  "batch/jobs": [],
  "certificates.k8s.io/certificatesigningrequests": [],
  "flowcontrol.apiserver.k8s.io/flowschemas": everything,
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": everything,
  "networking.k8s.io/ingresses": [],
  "networking.k8s.io/servicecidrs": everything,
  "policy/poddisruptionbudgets": [],
  "resource.k8s.io/resourceclaims": everything,
  "storage.k8s.io/volumeattachments": everything,
  "/namespaces": [],
  "/nodes": [],
  "/persistentvolumeclaims": [],
  "/persistentvolumes": [],
  "/pods": ["ownerReferences"],
  "/replicationcontrollers": [],
  "/resourcequotas": [],
  "/services": [],
};

const context = { clock: new ManualClock("2026-01-01T00:00:00Z"), random: seededRandom(1), user: testUser };

const objectOf = (kind: AnyKind, word: string) => ({
  apiVersion: kind.apiVersion,
  kind: kind.kind,
  metadata: {
    name: "a",
    uid: "u",
    labels: { a: word },
    annotations: { a: word },
    finalizers: [`a.io/${word}`],
    ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: word, uid: word }],
  },
  spec: { word },
  status: {},
});

const withStatus = catalog.filter(({ subresources }) => subresources?.status);
const nameOf = ({ group, plural }: AnyKind) => `${group}/${plural}`;

test("every kind with a status has its line", () =>
  assert.deepEqual([...new Set(withStatus.map(nameOf))].toSorted(), Object.keys(kept).toSorted()));

for (const kind of withStatus)
  test(`a status of ${kind.apiVersion} ${kind.plural} is written without what else was sent`, () => {
    const [old, object] = [objectOf(kind, "old"), objectOf(kind, "new")];
    prepareForStatusUpdate(kind, strategyOf(kind), object, old, context);
    assert.equal(object.spec.word, "old");
    const isOld = everything.filter(
      (field) => JSON.stringify(Object(object.metadata)[field]) === JSON.stringify(Object(old.metadata)[field]),
    );
    assert.deepEqual(isOld, kept[nameOf(kind)]);
  });
