import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Label } from "#schema/formats.ts";
import { duplicate, type Infer, list, map, ref, resource, string, struct } from "#schema/index.ts";
import { labelProblems } from "#schema/validate-metadata.ts";
import { Toleration } from "../../core/v1/affinity.ts";
import { checkTolerations } from "../../core/v1/checks/affinity.ts";
import { checkAmounts, containerResourceName } from "../../core/v1/checks/resources.ts";
import { internalForm } from "../../internal-form.ts";
import { unchanged } from "../../rules.ts";

export const Overhead = struct(
  "node/v1.Overhead",
  {
    podFixed: map(1, "quantity", "What every pod uses beside its containers."),
  },
  {
    // Judged as the limits of a container are, and named so in the answer.
    *check({ podFixed = {} }) {
      for (const name of Object.keys(podFixed)) yield* containerResourceName(`limits[${name}]`, name);
      yield* checkAmounts({ limits: podFixed });
    },
  },
);
export interface Overhead extends Infer<typeof Overhead> {}

export const Scheduling = struct(
  "node/v1.Scheduling",
  {
    nodeSelector: map(1, "string", "Labels of the nodes that have the runtime; joined with those of the pod.").atomic(),
    tolerations: list(2, Toleration, "Taints that pods of the class tolerate, besides their own."),
  },
  {
    *check({ nodeSelector, tolerations = [] }) {
      yield* labelProblems(nodeSelector, "nodeSelector");
      yield* checkTolerations("tolerations", tolerations);
      const seen = new Set<string>();
      for (const [i, toleration] of tolerations.entries()) {
        const { key, operator, value, effect } = toleration;
        const same = JSON.stringify([key, operator, value, effect]);
        if (seen.has(same)) yield duplicate(`tolerations[${i}]`, internalForm(Toleration, toleration));
        seen.add(same);
      }
    },
  },
);
export interface Scheduling extends Infer<typeof Scheduling> {}

export const RuntimeClass = resource({
  group: "node.k8s.io",
  version: "v1",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  scope: "Cluster",
  doc: "A way of running containers that pods can ask for by name, such as a sandbox.",
  fields: {
    handler: string(2, "What the nodes' container runtime calls it; cannot change.")
      .nonEmpty()
      .is(dns1123Label)
      .required(),
    overhead: ref(3, Overhead, "What pods of the class use beside their containers."),
    scheduling: ref(4, Scheduling, "Which nodes have it."),
  },
  columns: [
    nameColumn,
    { name: "Handler", doc: "What the container runtime calls it.", cell: ({ handler }) => handler },
    ageColumn,
  ],
  *check(runtimeClass, old) {
    if (old) yield* unchanged(runtimeClass, old, "handler");
  },
});
export interface RuntimeClass extends Infer<typeof RuntimeClass> {}
