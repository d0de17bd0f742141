import { bool, type Infer, int32, list, ref, resource, string, struct, time } from "#schema/index.ts";

export const FlowDistinguisherMethod = struct("flowcontrol/v1.FlowDistinguisherMethod", {
  type: string(1).required(),
});
export interface FlowDistinguisherMethod extends Infer<typeof FlowDistinguisherMethod> {}

export const FlowSchemaCondition = struct("flowcontrol/v1.FlowSchemaCondition", {
  type: string(1),
  status: string(2),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
});
export interface FlowSchemaCondition extends Infer<typeof FlowSchemaCondition> {}

export const PriorityLevelConfigurationReference = struct("flowcontrol/v1.PriorityLevelConfigurationReference", {
  name: string(1).required(),
});
export interface PriorityLevelConfigurationReference extends Infer<typeof PriorityLevelConfigurationReference> {}

export const UserSubject = struct("flowcontrol/v1.UserSubject", {
  name: string(1).required(),
});
export interface UserSubject extends Infer<typeof UserSubject> {}

export const GroupSubject = struct("flowcontrol/v1.GroupSubject", {
  name: string(1).required(),
});
export interface GroupSubject extends Infer<typeof GroupSubject> {}

export const ServiceAccountSubject = struct("flowcontrol/v1.ServiceAccountSubject", {
  namespace: string(1).required(),
  name: string(2).required(),
});
export interface ServiceAccountSubject extends Infer<typeof ServiceAccountSubject> {}

export const Subject = struct(
  "flowcontrol/v1.Subject",
  {
    kind: string(1).required(),
    user: ref(2, UserSubject),
    group: ref(3, GroupSubject),
    serviceAccount: ref(4, ServiceAccountSubject),
  },
  { union: { discriminator: "kind", fields: { group: "Group", serviceAccount: "ServiceAccount", user: "User" } } },
);
export interface Subject extends Infer<typeof Subject> {}

export const ResourcePolicyRule = struct("flowcontrol/v1.ResourcePolicyRule", {
  verbs: list(1, "string").asSet().required(),
  apiGroups: list(2, "string").asSet().required(),
  resources: list(3, "string").asSet().required(),
  clusterScope: bool(4),
  namespaces: list(5, "string").asSet().always(),
});
export interface ResourcePolicyRule extends Infer<typeof ResourcePolicyRule> {}

export const NonResourcePolicyRule = struct("flowcontrol/v1.NonResourcePolicyRule", {
  verbs: list(1, "string").asSet().required(),
  nonResourceURLs: list(6, "string").asSet().required(),
});
export interface NonResourcePolicyRule extends Infer<typeof NonResourcePolicyRule> {}

export const PolicyRulesWithSubjects = struct("flowcontrol/v1.PolicyRulesWithSubjects", {
  subjects: list(1, Subject).required(),
  resourceRules: list(2, ResourcePolicyRule),
  nonResourceRules: list(3, NonResourcePolicyRule),
});
export interface PolicyRulesWithSubjects extends Infer<typeof PolicyRulesWithSubjects> {}

export const FlowSchemaSpec = struct("flowcontrol/v1.FlowSchemaSpec", {
  priorityLevelConfiguration: ref(1, PriorityLevelConfigurationReference).required(),
  matchingPrecedence: int32(2).always().default(1000),
  distinguisherMethod: ref(3, FlowDistinguisherMethod),
  rules: list(4, PolicyRulesWithSubjects),
});
export interface FlowSchemaSpec extends Infer<typeof FlowSchemaSpec> {}

export const FlowSchemaStatus = struct("flowcontrol/v1.FlowSchemaStatus", {
  conditions: list(1, FlowSchemaCondition).keyedBy("type"),
});
export interface FlowSchemaStatus extends Infer<typeof FlowSchemaStatus> {}

export const FlowSchema = resource({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  kind: "FlowSchema",
  plural: "flowschemas",
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, FlowSchemaSpec).default({}),
    status: ref(3, FlowSchemaStatus).default({}),
  },
  subresources: { status: true },
});
export interface FlowSchema extends Infer<typeof FlowSchema> {}
