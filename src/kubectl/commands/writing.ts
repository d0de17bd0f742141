import type { KubectlCommandEntry } from "../command.ts";

/** Commands that change what a server has. */
export const writingCommands: readonly KubectlCommandEntry[] = [
  {
    name: "alpha",
    short: "Commands that are being tried out",
    load: async () => (await import("./alpha.ts")).alpha,
  },
  {
    name: "annotate",
    group: "Settings Commands",
    short: "Update the annotations on a resource",
    load: async () => (await import("./label.ts")).annotate,
  },
  {
    name: "apply",
    group: "Advanced Commands",
    short: "Apply a configuration to a resource by file name or stdin",
    load: async () => (await import("./apply/apply.ts")).apply,
  },
  {
    name: "autoscale",
    group: "Deploy Commands",
    short: "Auto-scale a deployment, replica set, stateful set, or replication controller",
    load: async () => (await import("./autoscale.ts")).autoscale,
  },
  {
    name: "certificate",
    group: "Cluster Management Commands",
    short: "Modify certificate resources",
    load: async () => (await import("./certificate.ts")).certificate,
  },
  {
    name: "create",
    group: "Basic Commands (Beginner)",
    short: "Create a resource from a file or from stdin",
    load: async () => (await import("./create/create.ts")).create,
  },
  {
    name: "delete",
    group: "Basic Commands (Intermediate)",
    short: "Delete resources by file names, stdin, resources and names, or by resources and label selector",
    load: async () => (await import("./delete.ts")).deleteCommand,
  },
  {
    name: "diff",
    group: "Advanced Commands",
    short: "Show what apply would change",
    load: async () => (await import("./diff.ts")).diff,
  },
  {
    name: "edit",
    group: "Basic Commands (Intermediate)",
    short: "Edit an object of the server in an editor",
    load: async () => (await import("./edit.ts")).edit,
  },
  {
    name: "expose",
    group: "Basic Commands (Beginner)",
    short: "Take a replication controller, service, deployment or pod and expose it as a new service",
    load: async () => (await import("./expose.ts")).expose,
  },
  {
    name: "kustomize",
    group: "Advanced Commands",
    short: "Print the manifests of a kustomization",
    load: async () => (await import("./kustomize.ts")).kustomize,
  },
  {
    name: "label",
    group: "Settings Commands",
    short: "Update the labels on a resource",
    load: async () => (await import("./label.ts")).label,
  },
  {
    name: "patch",
    group: "Advanced Commands",
    short: "Update fields of a resource",
    load: async () => (await import("./patch.ts")).patch,
  },
  {
    name: "replace",
    group: "Advanced Commands",
    short: "Replace a resource by file name or stdin",
    load: async () => (await import("./replace.ts")).replace,
  },
  {
    name: "rollout",
    group: "Deploy Commands",
    short: "Manage the rollout of a resource",
    load: async () => (await import("./rollout.ts")).rollout,
  },
  {
    name: "run",
    group: "Basic Commands (Beginner)",
    short: "Run a particular image on the cluster",
    load: async () => (await import("./run.ts")).run,
  },
  {
    name: "scale",
    group: "Deploy Commands",
    short: "Set a new size for a deployment, replica set, or replication controller",
    load: async () => (await import("./scale.ts")).scale,
  },
  {
    name: "set",
    group: "Basic Commands (Beginner)",
    short: "Set specific features on objects",
    load: async () => (await import("./set/set.ts")).set,
  },
];
