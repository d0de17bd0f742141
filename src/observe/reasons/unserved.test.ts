import assert from "node:assert/strict";
import { test } from "node:test";
import { began, lately, now } from "../testing.ts";
import { unservedReason } from "./unserved.ts";

const established = { status: { conditions: [{ type: "Established", status: "True" }] } };
const table: readonly (readonly [string, object, RegExp | undefined])[] = [
  ["CustomResourceDefinition", { status: { conditions: [] } }, /no API server has looked at it/],
  ["CustomResourceDefinition", established, undefined],
  ["APIService", { spec: { service: { name: "metrics" } } }, undefined],
  ["HorizontalPodAutoscaler", { status: {} }, /nobody scales by it: no controller manager has looked at it/],
  ["HorizontalPodAutoscaler", { status: { conditions: [{ type: "AbleToScale" }] } }, undefined],
  ["Ingress", { status: { loadBalancer: {} } }, /no ingress controller has taken it up/],
  ["Ingress", { status: { loadBalancer: { ingress: [{ ip: "10.0.0.1" }] } } }, undefined],
  ["ConfigMap", {}, undefined],
  ["constructor", {}, undefined],
];

test("why says plainly what nobody acts on, and nothing of what someone does", () => {
  for (const [kind, object, says] of table) {
    const reason = unservedReason(kind, { object: { ...object }, creationTimestamp: began, now });
    if (says) {
      assert.deepEqual([reason?.code, reason?.state], ["NotServed", "wrong"], kind);
      assert.match(reason?.says ?? "", says);
    } else assert.equal(reason, undefined, kind);
  }
});

test("why gives those who act on an object a moment", () => {
  const facts = { object: {}, creationTimestamp: lately, now: Date.parse(lately) + 5000 };
  assert.equal(unservedReason("Ingress", facts)?.state, "underway");
});

test("why says what an ingress lacks: a controller, a class, or the right one", () => {
  const remedy = (spec: object, ingressClasses: readonly string[]) =>
    unservedReason("Ingress", { object: { spec }, creationTimestamp: began, ingressClasses, now })?.remedies?.[0];
  assert.match(remedy({}, []) ?? "", /^install an ingress controller/);
  assert.match(remedy({}, ["nginx"]) ?? "", /^say which controller .* one of nginx$/);
  assert.match(remedy({ ingressClassName: "x" }, ["nginx"]) ?? "", /there is no x, but nginx$/);
  assert.match(remedy({ ingressClassName: "nginx" }, ["nginx"]) ?? "", /^see whether the controller/);
});
