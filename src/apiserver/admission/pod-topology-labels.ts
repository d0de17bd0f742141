// Upstream: plugin/pkg/admission/podtopologylabels/admission.go.
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { admissionPlugin } from "./plugin.ts";

const topology = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/** A pod carries the zone and region of its node as labels of its own, from the moment it is bound. */
export const podTopologyLabels = admissionPlugin({
  name: "PodTopologyLabels",
  on: { verbs: ["create"], through: ["", "binding"] },
  mutate({ object, kind, subresource, server }) {
    if (kind !== Pod) return;
    const isNode = (object.target?.kind ?? "Node") === "Node";
    const nodeName: string = subresource === "" ? object.spec.nodeName : isNode ? object.target?.name : undefined;
    const labels = (nodeName && server.get(Node, nodeName)?.metadata.labels) || {};
    const copied = topology.flatMap((label) => (labels[label] === undefined ? [] : [[label, labels[label]]]));
    if (copied.length > 0) object.metadata.labels = { ...object.metadata.labels, ...Object.fromEntries(copied) };
  },
});
