// How a new cluster divides the server between its clients. Upstream: staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap.
import { FlowSchema } from "#api/flowcontrol/v1/flow-schema.ts";
import { mandatoryFlowSchemas, mandatoryPriorityLevels } from "#api/flowcontrol/v1/mandatory.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/v1/priority-level-configuration.ts";
import type { SystemObject } from "./objects.ts";

const annotations = { "apf.kubernetes.io/autoupdate-spec": "true" };

const anything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};
const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], namespaces: ["*"] };
const user = (name: string) => ({ kind: "User", user: { name } });
const group = (name: string) => ({ kind: "Group", group: { name } });
const systemServiceAccounts = { kind: "ServiceAccount", serviceAccount: { namespace: "kube-system", name: "*" } };
const everybody = [group("system:unauthenticated"), group("system:authenticated")];
const [controllerManager, scheduler] = [user("system:kube-controller-manager"), user("system:kube-scheduler")];

interface SchemaRow {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  readonly by?: "ByUser" | "ByNamespace";
  readonly rule: object;
}

const schemaRows: readonly SchemaRow[] = [
  {
    name: "probes",
    level: "exempt",
    precedence: 2,
    rule: {
      subjects: everybody,
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
    },
  },
  {
    name: "system-leader-election",
    level: "leader-election",
    precedence: 100,
    by: "ByUser",
    rule: {
      subjects: [controllerManager, scheduler, systemServiceAccounts],
      resourceRules: [{ verbs: ["get", "create", "update"], ...leases }],
    },
  },
  {
    name: "system-node-high",
    level: "node-high",
    precedence: 400,
    by: "ByUser",
    rule: {
      subjects: [group("system:nodes")],
      resourceRules: [
        { verbs: ["*"], apiGroups: [""], resources: ["nodes", "nodes/status"], clusterScope: true, namespaces: ["*"] },
        { verbs: ["*"], ...leases },
      ],
    },
  },
  {
    name: "system-nodes",
    level: "system",
    precedence: 500,
    by: "ByUser",
    rule: { subjects: [group("system:nodes")], ...anything },
  },
  {
    name: "kube-controller-manager",
    level: "workload-high",
    precedence: 800,
    by: "ByNamespace",
    rule: { subjects: [controllerManager], ...anything },
  },
  {
    name: "kube-scheduler",
    level: "workload-high",
    precedence: 800,
    by: "ByNamespace",
    rule: { subjects: [scheduler], ...anything },
  },
  {
    name: "kube-system-service-accounts",
    level: "workload-high",
    precedence: 900,
    by: "ByNamespace",
    rule: { subjects: [systemServiceAccounts], ...anything },
  },
  {
    name: "service-accounts",
    level: "workload-low",
    precedence: 9000,
    by: "ByUser",
    rule: { subjects: [group("system:serviceaccounts")], ...anything },
  },
  {
    name: "global-default",
    level: "global-default",
    precedence: 9900,
    by: "ByUser",
    rule: { subjects: everybody, ...anything },
  },
];

const suggestedSchemas = schemaRows.map(({ name, level, precedence, by, rule }): readonly [string, object] => [
  name,
  {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence: precedence,
    ...(by && { distinguisherMethod: { type: by } }),
    rules: [rule],
  },
]);

/** Name, shares, percentage that may be lent, queues, and how many of them one flow gets. */
const levelRows: readonly (readonly [string, number, number, number, number])[] = [
  ["system", 30, 33, 64, 6],
  ["node-high", 40, 25, 64, 6],
  ["leader-election", 10, 0, 16, 4],
  ["workload-high", 40, 50, 128, 6],
  ["workload-low", 100, 90, 128, 6],
  ["global-default", 20, 50, 128, 6],
];

const suggestedLevels = levelRows.map(([name, shares, lendable, queues, handSize]): readonly [string, object] => [
  name,
  {
    type: "Limited",
    limited: {
      nominalConcurrencyShares: shares,
      lendablePercent: lendable,
      limitResponse: { type: "Queue", queuing: { queues, handSize, queueLengthLimit: 50 } },
    },
  },
]);

const exempt = { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } };
const levels = new Map([...mandatoryPriorityLevels, ["exempt", exempt], ...suggestedLevels] as const);

export const priorityLevels: readonly SystemObject[] = [...levels].map(([name, spec]) => ({
  kind: PriorityLevelConfiguration,
  object: {
    apiVersion: PriorityLevelConfiguration.apiVersion,
    kind: PriorityLevelConfiguration.kind,
    metadata: { name, annotations },
    spec,
  },
}));

export const flowSchemas: readonly SystemObject[] = [...mandatoryFlowSchemas, ...suggestedSchemas].map(
  ([name, spec]) => ({
    kind: FlowSchema,
    object: { apiVersion: FlowSchema.apiVersion, kind: FlowSchema.kind, metadata: { name, annotations }, spec },
  }),
);
