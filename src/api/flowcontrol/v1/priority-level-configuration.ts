import { type Infer, int32, list, ref, resource, string, struct, time } from "#schema/index.ts";

export const ExemptPriorityLevelConfiguration = struct("flowcontrol/v1.ExemptPriorityLevelConfiguration", {
  nominalConcurrencyShares: int32(1).pointer().default(0),
  lendablePercent: int32(2).pointer().default(0),
});
export interface ExemptPriorityLevelConfiguration extends Infer<typeof ExemptPriorityLevelConfiguration> {}

export const QueuingConfiguration = struct("flowcontrol/v1.QueuingConfiguration", {
  queues: int32(1).always().default(64),
  handSize: int32(2).always().default(8),
  queueLengthLimit: int32(3).always().default(50),
});
export interface QueuingConfiguration extends Infer<typeof QueuingConfiguration> {}

export const LimitResponse = struct(
  "flowcontrol/v1.LimitResponse",
  {
    type: string(1).required(),
    queuing: ref(2, QueuingConfiguration),
  },
  { union: { discriminator: "type", fields: { queuing: "Queuing" } } },
);
export interface LimitResponse extends Infer<typeof LimitResponse> {}

export const LimitedPriorityLevelConfiguration = struct("flowcontrol/v1.LimitedPriorityLevelConfiguration", {
  nominalConcurrencyShares: int32(1).pointer().default(30),
  limitResponse: ref(2, LimitResponse).default({}),
  lendablePercent: int32(3).pointer().default(0),
  borrowingLimitPercent: int32(4).pointer(),
});
export interface LimitedPriorityLevelConfiguration extends Infer<typeof LimitedPriorityLevelConfiguration> {}

export const PriorityLevelConfigurationCondition = struct("flowcontrol/v1.PriorityLevelConfigurationCondition", {
  type: string(1),
  status: string(2),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
});
export interface PriorityLevelConfigurationCondition extends Infer<typeof PriorityLevelConfigurationCondition> {}

export const PriorityLevelConfigurationSpec = struct(
  "flowcontrol/v1.PriorityLevelConfigurationSpec",
  {
    type: string(1).required(),
    limited: ref(2, LimitedPriorityLevelConfiguration),
    exempt: ref(3, ExemptPriorityLevelConfiguration),
  },
  { union: { discriminator: "type", fields: { exempt: "Exempt", limited: "Limited" } } },
);
export interface PriorityLevelConfigurationSpec extends Infer<typeof PriorityLevelConfigurationSpec> {}

export const PriorityLevelConfigurationStatus = struct("flowcontrol/v1.PriorityLevelConfigurationStatus", {
  conditions: list(1, PriorityLevelConfigurationCondition).keyedBy("type"),
});
export interface PriorityLevelConfigurationStatus extends Infer<typeof PriorityLevelConfigurationStatus> {}

export const PriorityLevelConfiguration = resource({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  kind: "PriorityLevelConfiguration",
  plural: "prioritylevelconfigurations",
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, PriorityLevelConfigurationSpec).default({}),
    status: ref(3, PriorityLevelConfigurationStatus).default({}),
  },
  subresources: { status: true },
});
export interface PriorityLevelConfiguration extends Infer<typeof PriorityLevelConfiguration> {}
