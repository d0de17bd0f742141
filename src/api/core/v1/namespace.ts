import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Label } from "#schema/formats.ts";
import { type Infer, list, type Problem, ref, resource, string, struct, time } from "#schema/index.ts";
import { checkNamespace, checkNamespaceStatus } from "./checks/namespace.ts";

export const NamespaceCondition = struct(
  "core/v1.NamespaceCondition",
  {
    type: string(1, "What it is about, such as NamespaceContentRemaining.").required(),
    status: string(2, "Whether it holds: True, False or Unknown.").required(),
    lastTransitionTime: time(4, "When the status last changed."),
    reason: string(5, "Why, in one CamelCase word."),
    message: string(6, "Why, in words."),
  },
  { doc: "One thing that is known about a namespace, mostly while it is being deleted." },
);
export interface NamespaceCondition extends Infer<typeof NamespaceCondition> {}

export const NamespaceSpec = struct(
  "core/v1.NamespaceSpec",
  {
    finalizers: list(1, "string", "Who must act before the namespace is gone; `kubernetes` empties it."),
  },
  { doc: "What a namespace should be." },
);
export interface NamespaceSpec extends Infer<typeof NamespaceSpec> {}

export const NamespaceStatus = struct(
  "core/v1.NamespaceStatus",
  {
    phase: string(1, "Whether it is in use or being deleted.").known("Active", "Terminating").default("Active"),
    conditions: list(2, NamespaceCondition, "What is known about the namespace.").keyedBy("type"),
  },
  { doc: "What a namespace is." },
);
export interface NamespaceStatus extends Infer<typeof NamespaceStatus> {}

export const Namespace = resource({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  shortNames: ["ns"],
  scope: "Cluster",
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  doc: "A room for names: objects in different namespaces may have the same name, and rights and quotas hold for a namespace.",
  fields: {
    spec: ref(2, NamespaceSpec, "What the namespace should be.").default({}),
    status: ref(3, NamespaceStatus, "What the namespace is.").default({}),
  },
  subresources: { finalize: { verbs: ["update"] }, status: true },
  columns: [
    nameColumn,
    { name: "Status", doc: "Whether it is in use or being deleted.", cell: ({ status }) => status.phase },
    ageColumn,
  ],
  selectableFields: { "status.phase": ({ status }) => status.phase },
  nameFormat: dns1123Label,
  complete({ metadata }): void {
    // So that namespaces can be selected by name. A name that is yet to be generated comes too late for this.
    if (metadata.name) metadata.labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name };
  },
  check: (namespace, old): Iterable<Problem> => (old ? [] : checkNamespace(namespace)),
  checkStatus: (namespace): Iterable<Problem> => checkNamespaceStatus(namespace),
});
export interface Namespace extends Infer<typeof Namespace> {}
