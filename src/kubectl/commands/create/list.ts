import type { KubectlCommandEntry } from "../../command.ts";

/** What can be created from arguments: a command and an entry here. */
export const createSubcommands: readonly KubectlCommandEntry[] = [
  {
    name: "clusterrole",
    short: "Create a cluster role",
    load: async () => (await import("./access.ts")).createClusterRole,
  },
  {
    name: "clusterrolebinding",
    short: "Create a cluster role binding for a particular cluster role",
    load: async () => (await import("./access.ts")).createClusterRoleBinding,
  },
  {
    name: "configmap",
    aliases: ["cm"],
    short: "Create a config map from a local file, directory or literal value",
    load: async () => (await import("./data.ts")).createConfigMap,
  },
  {
    name: "cronjob",
    aliases: ["cj"],
    short: "Create a cron job with the specified name",
    load: async () => (await import("./workloads.ts")).createCronJob,
  },
  {
    name: "deployment",
    aliases: ["deploy"],
    short: "Create a deployment with the specified name",
    load: async () => (await import("./workloads.ts")).createDeployment,
  },
  {
    name: "ingress",
    aliases: ["ing"],
    short: "Create an ingress with the specified name",
    load: async () => (await import("./policy.ts")).createIngress,
  },
  {
    name: "job",
    short: "Create a job with the specified name",
    load: async () => (await import("./workloads.ts")).createJob,
  },
  {
    name: "namespace",
    aliases: ["ns"],
    short: "Create a namespace with the specified name",
    load: async () => (await import("./policy.ts")).createNamespace,
  },
  {
    name: "poddisruptionbudget",
    aliases: ["pdb"],
    short: "Create a pod disruption budget with the specified name",
    load: async () => (await import("./policy.ts")).createPodDisruptionBudget,
  },
  {
    name: "priorityclass",
    aliases: ["pc"],
    short: "Create a priority class with the specified name",
    load: async () => (await import("./policy.ts")).createPriorityClass,
  },
  {
    name: "quota",
    aliases: ["resourcequota"],
    short: "Create a quota with the specified name",
    load: async () => (await import("./policy.ts")).createQuota,
  },
  { name: "role", short: "Create a role with single rule", load: async () => (await import("./access.ts")).createRole },
  {
    name: "rolebinding",
    short: "Create a role binding for a particular role or cluster role",
    load: async () => (await import("./access.ts")).createRoleBinding,
  },
  {
    name: "secret",
    short: "Create a secret of one of three sorts",
    load: async () => (await import("./data.ts")).createSecret,
  },
  {
    name: "service",
    aliases: ["svc"],
    short: "Create a service of one of the four types",
    load: async () => (await import("./services.ts")).createService,
  },
  {
    name: "serviceaccount",
    aliases: ["sa"],
    short: "Create a service account with the specified name",
    load: async () => (await import("./policy.ts")).createServiceAccount,
  },
  {
    name: "token",
    short: "Request a service account token",
    load: async () => (await import("./token.ts")).createToken,
  },
];
