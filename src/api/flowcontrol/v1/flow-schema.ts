import { equal } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import {
  bool,
  type Infer,
  int32,
  invalid,
  list,
  notSupported,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { internalForm } from "../../internal-form.ts";
import { checkConditionTypes, checkPathRule, checkResourceRule, checkSubject } from "./checks.ts";
import { mandatoryFlowSchemas } from "./mandatory.ts";

export const FlowDistinguisherMethod = struct("flowcontrol/v1.FlowDistinguisherMethod", {
  type: string(1, "By what requests are told apart: ByUser or ByNamespace.").required(),
});
export interface FlowDistinguisherMethod extends Infer<typeof FlowDistinguisherMethod> {}

export const FlowSchemaCondition = struct("flowcontrol/v1.FlowSchemaCondition", {
  type: string(1, "What the condition is about; Dangling is the only one."),
  status: string(2, "True, False or Unknown."),
  lastTransitionTime: time(3, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
});
export interface FlowSchemaCondition extends Infer<typeof FlowSchemaCondition> {}

export const PriorityLevelConfigurationReference = struct("flowcontrol/v1.PriorityLevelConfigurationReference", {
  name: string(1, "Name of the priority level.")
    .nonEmpty("must reference a priority level")
    .is(dns1123Subdomain)
    .required(),
});
export interface PriorityLevelConfigurationReference extends Infer<typeof PriorityLevelConfigurationReference> {}

export const UserSubject = struct("flowcontrol/v1.UserSubject", {
  name: string(1, "Name of the user; * means any.").nonEmpty().required(),
});
export interface UserSubject extends Infer<typeof UserSubject> {}

export const GroupSubject = struct("flowcontrol/v1.GroupSubject", {
  name: string(1, "Name of the group; * means any.").nonEmpty().required(),
});
export interface GroupSubject extends Infer<typeof GroupSubject> {}

export const ServiceAccountSubject = struct("flowcontrol/v1.ServiceAccountSubject", {
  namespace: string(1, "Namespace of the account.").nonEmpty("must specify namespace for service account").required(),
  name: string(2, "Name of the account; * means any.").nonEmpty().required(),
});
export interface ServiceAccountSubject extends Infer<typeof ServiceAccountSubject> {}

export const Subject = struct(
  "flowcontrol/v1.Subject",
  {
    kind: string(1, "User, Group or ServiceAccount.").required(),
    user: ref(2, UserSubject, "A user."),
    group: ref(3, GroupSubject, "A group."),
    serviceAccount: ref(4, ServiceAccountSubject, "A service account."),
  },
  {
    union: { discriminator: "kind", fields: { group: "Group", serviceAccount: "ServiceAccount", user: "User" } },
    *check(subject): Iterable<Problem> {
      yield* checkSubject(subject);
    },
  },
);
export interface Subject extends Infer<typeof Subject> {}

export const ResourcePolicyRule = struct(
  "flowcontrol/v1.ResourcePolicyRule",
  {
    verbs: list(1, "string", "What is done; * means anything.").asSet().required(),
    apiGroups: list(2, "string", "Groups of the resources; * means any.").asSet().required(),
    resources: list(3, "string", "The resources; * means all.").asSet().required(),
    clusterScope: bool(4, "Whether requests outside of namespaces match."),
    namespaces: list(5, "string", "Namespaces that match; * means all.").asSet().always(),
  },
  {
    *check(rule): Iterable<Problem> {
      yield* checkResourceRule(rule);
    },
  },
);
export interface ResourcePolicyRule extends Infer<typeof ResourcePolicyRule> {}

export const NonResourcePolicyRule = struct(
  "flowcontrol/v1.NonResourcePolicyRule",
  {
    verbs: list(1, "string", "What is done; * means anything.").asSet().required(),
    nonResourceURLs: list(6, "string", "Paths that match; one may end in *.").asSet().required(),
  },
  {
    *check(rule): Iterable<Problem> {
      yield* checkPathRule(rule);
    },
  },
);
export interface NonResourcePolicyRule extends Infer<typeof NonResourcePolicyRule> {}

export const PolicyRulesWithSubjects = struct(
  "flowcontrol/v1.PolicyRulesWithSubjects",
  {
    subjects: list(1, Subject, "Who is asking.").nonEmpty("subjects must contain at least one value").required(),
    resourceRules: list(2, ResourcePolicyRule, "What is done to objects."),
    nonResourceRules: list(3, NonResourcePolicyRule, "What is done at paths."),
  },
  {
    *check({ resourceRules = [], nonResourceRules = [] }) {
      if (resourceRules.length + nonResourceRules.length === 0)
        yield required("", "at least one of resourceRules and nonResourceRules has to be non-empty");
    },
  },
);
export interface PolicyRulesWithSubjects extends Infer<typeof PolicyRulesWithSubjects> {}

export const FlowSchemaSpec = struct(
  "flowcontrol/v1.FlowSchemaSpec",
  {
    priorityLevelConfiguration: ref(
      1,
      PriorityLevelConfigurationReference,
      "The priority level of requests that match.",
    ).required(),
    matchingPrecedence: int32(2, "Schemas with a smaller number are tried first.").always().default(1000),
    distinguisherMethod: ref(3, FlowDistinguisherMethod, "How requests that match are told apart into flows."),
    rules: list(4, PolicyRulesWithSubjects, "Which requests match; one of the rules must."),
  },
  {
    *check({ matchingPrecedence: precedence, distinguisherMethod: method }) {
      if (precedence <= 0) yield invalid("matchingPrecedence", "must be a positive value");
      if (precedence > 10_000) yield invalid("matchingPrecedence", "must not be greater than 10000");
      if (method && method.type !== "ByNamespace" && method.type !== "ByUser")
        yield notSupported(
          "distinguisherMethod.type",
          ["ByNamespace", "ByUser"],
          internalForm(FlowDistinguisherMethod, method),
        );
    },
  },
);
export interface FlowSchemaSpec extends Infer<typeof FlowSchemaSpec> {}

export const FlowSchemaStatus = struct(
  "flowcontrol/v1.FlowSchemaStatus",
  {
    conditions: list(1, FlowSchemaCondition, "Whether its priority level exists.").keyedBy("type"),
  },
  {
    *check({ conditions }) {
      yield* checkConditionTypes(conditions);
    },
  },
);
export interface FlowSchemaStatus extends Infer<typeof FlowSchemaStatus> {}

export const FlowSchema = resource({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  kind: "FlowSchema",
  plural: "flowschemas",
  scope: "Cluster",
  doc: "Sorts requests into a priority level, so that no client can starve the others.",
  fields: {
    spec: ref(2, FlowSchemaSpec, "What is wanted.").default({}),
    status: ref(3, FlowSchemaStatus, "What was found.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    {
      name: "PriorityLevel",
      doc: "The priority level of its requests.",
      cell: ({ spec }) => spec.priorityLevelConfiguration.name,
    },
    { name: "MatchingPrecedence", doc: "When it is tried.", cell: ({ spec }) => spec.matchingPrecedence },
    {
      name: "DistinguisherMethod",
      doc: "How its requests are told apart.",
      cell: ({ spec }) => spec.distinguisherMethod?.type || "<none>",
    },
    ageColumn,
    {
      name: "MissingPL",
      doc: "Whether its priority level does not exist.",
      cell: ({ status }) => (status.conditions ?? []).find(({ type }) => type === "Dangling")?.status ?? "?",
    },
  ],
  *check({ metadata, spec }) {
    const { name = "" } = metadata;
    if (spec.matchingPrecedence === 1 && name !== "exempt")
      yield invalid("spec.matchingPrecedence", "only the schema named 'exempt' may have matchingPrecedence 1");
    const fixed = mandatoryFlowSchemas.get(name);
    if (fixed && !equal(spec, fixed)) yield invalid("spec", `spec of '${name}' must equal the fixed value`);
  },
});
export interface FlowSchema extends Infer<typeof FlowSchema> {}
