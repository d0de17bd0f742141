import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { began, made, podWith } from "../testing.ts";
import { podReason } from "./pod.ts";

const unscheduled = (message: string) => ({
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message, lastTransitionTime: began }],
});
const nodeNamed = (name: string, taint?: string, labels: Readonly<Record<string, string>> = {}) => {
  const [, key = "", value, effect] = /^([^=:]+)(?:=([^:]+))?:(\w+)$/.exec(taint ?? "") ?? [];
  const taints = taint === undefined ? [] : [{ key, effect: effect as "NoSchedule", ...(value && { value }) }];
  return made(Node, { metadata: { name, labels }, spec: { taints } });
};

test("why names the taints that keep a pod away, and what helps against each", () => {
  const message = "0/4 nodes are available: 3 node(s) had untolerated taint(s), 1 Insufficient cpu.";
  const nodes = [
    nodeNamed("n1", "gpu=yes:NoSchedule"),
    nodeNamed("n2", "gpu=yes:NoSchedule"),
    nodeNamed("n3", "node.kubernetes.io/not-ready:NoExecute"),
    nodeNamed("n4", "soft:PreferNoSchedule"),
  ];
  const facts = podWith({ status: unscheduled(message) }, { nodes });
  const said = podReason(facts).evidence?.map(({ from, says }) => `${from}: ${says}`);
  assert.deepEqual(said?.slice(1), [
    "taint gpu=yes:NoSchedule: is on n1, n2, and the pod does not tolerate it",
    "taint node.kubernetes.io/not-ready:NoExecute: is on n3, and the pod does not tolerate it",
  ]);
  assert.deepEqual(podReason(facts).remedies, [
    "tolerate the taint gpu=yes:NoSchedule in the pod's spec.tolerations, or take it from a node: kubectl taint nodes n1 gpu=yes:NoSchedule-",
    "see what is wrong with the node: knarr why node/n3",
    "ask for less cpu, free some, or add nodes that have more",
  ]);
});

test("why gives the advice that fits the nodes a pod asks for: labels, or taints", () => {
  const message =
    "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s).";
  const spec = { nodeSelector: { disk: "fast" } };
  const wantedIsTainted = [nodeNamed("n1", "a=b:NoSchedule", { disk: "fast" }), nodeNamed("n2")];
  const [first, ...others] =
    podReason(podWith({ spec, status: unscheduled(message) }, { nodes: wantedIsTainted })).remedies ?? [];
  assert.match(first ?? "", /^tolerate the taint a=b:NoSchedule/);
  assert.deepEqual(others, []);
  const noneIsWanted = [nodeNamed("n1", "a=b:NoSchedule"), nodeNamed("n2", "a=b:NoSchedule")];
  const onlyTaints = "0/2 nodes are available: 2 node(s) had untolerated taint(s).";
  assert.deepEqual(podReason(podWith({ spec, status: unscheduled(onlyTaints) }, { nodes: noneIsWanted })).remedies, [
    "label a node as nodeSelector or affinity ask for, or ask for less",
  ]);
  const otherIsTainted = [nodeNamed("n1", "a=b:NoSchedule"), nodeNamed("n2")];
  assert.deepEqual(podReason(podWith({ spec, status: unscheduled(message) }, { nodes: otherIsTainted })).remedies, [
    "label a node as nodeSelector or affinity ask for, or ask for less",
  ]);
});
