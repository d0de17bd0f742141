import { equal } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import {
  forbidden,
  type Infer,
  int32,
  invalid,
  list,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { checkConditionTypes, checkQueuing } from "./checks.ts";
import { mandatoryPriorityLevels } from "./mandatory.ts";

export const ExemptPriorityLevelConfiguration = struct(
  "flowcontrol/v1.ExemptPriorityLevelConfiguration",
  {
    nominalConcurrencyShares: int32(1, "Its share of the server, as far as others may borrow it.").pointer().default(0),
    lendablePercent: int32(2, "How much of its share others may borrow.").min(0).max(100).pointer().default(0),
  },
  {
    *check({ nominalConcurrencyShares }) {
      if (nominalConcurrencyShares < 0) yield invalid("nominalConcurrencyShares", "must be a non-negative integer");
    },
  },
);
export interface ExemptPriorityLevelConfiguration extends Infer<typeof ExemptPriorityLevelConfiguration> {}

export const QueuingConfiguration = struct(
  "flowcontrol/v1.QueuingConfiguration",
  {
    queues: int32(1, "How many queues there are.").always().default(64),
    handSize: int32(2, "How many queues a flow is dealt, to wait in the shortest.").always().default(8),
    queueLengthLimit: int32(3, "How many requests may wait in a queue.").always().default(50),
  },
  {
    *check(queuing): Iterable<Problem> {
      yield* checkQueuing(queuing);
    },
  },
);
export interface QueuingConfiguration extends Infer<typeof QueuingConfiguration> {}

export const LimitResponse = struct(
  "flowcontrol/v1.LimitResponse",
  {
    type: string(1, "What happens to requests beyond the limit: they Queue or are rejected (Reject).")
      .nonEmpty()
      .oneOf("Queue", "Reject")
      .publishedAs()
      .required(),
    queuing: ref(2, QueuingConfiguration, "How they wait."),
  },
  {
    union: { discriminator: "type", fields: { queuing: "Queuing" } },
    *check({ type, queuing }) {
      if (type === "Reject" && queuing)
        yield forbidden("queuing", "must be nil if limited.limitResponse.type is not Limited");
      if (type === "Queue" && !queuing)
        yield required("queuing", "must not be empty if limited.limitResponse.type is Limited");
    },
  },
);
export interface LimitResponse extends Infer<typeof LimitResponse> {}

export const LimitedPriorityLevelConfiguration = struct(
  "flowcontrol/v1.LimitedPriorityLevelConfiguration",
  {
    nominalConcurrencyShares: int32(1, "Its share of the server, compared to that of other levels.")
      .pointer()
      .default(30),
    limitResponse: ref(2, LimitResponse, "What happens to requests beyond the limit.").default({}),
    lendablePercent: int32(3, "How much of its share others may borrow.").min(0).max(100).pointer().default(0),
    borrowingLimitPercent: int32(4, "How much it may borrow, compared to its share.").pointer(),
  },
  {
    *check({ nominalConcurrencyShares, borrowingLimitPercent = 0 }) {
      if (nominalConcurrencyShares < 0) yield invalid("nominalConcurrencyShares", "must be a non-negative integer");
      if (borrowingLimitPercent < 0)
        yield invalid("borrowingLimitPercent", "if specified, must be a non-negative integer");
    },
  },
);
export interface LimitedPriorityLevelConfiguration extends Infer<typeof LimitedPriorityLevelConfiguration> {}

export const PriorityLevelConfigurationCondition = struct("flowcontrol/v1.PriorityLevelConfigurationCondition", {
  type: string(1, "What the condition is about."),
  status: string(2, "True, False or Unknown."),
  lastTransitionTime: time(3, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
});
export interface PriorityLevelConfigurationCondition extends Infer<typeof PriorityLevelConfigurationCondition> {}

export const PriorityLevelConfigurationSpec = struct(
  "flowcontrol/v1.PriorityLevelConfigurationSpec",
  {
    type: string(1, "Whether requests are Limited, or never wait (Exempt).")
      .nonEmpty()
      .oneOf("Exempt", "Limited")
      .publishedAs()
      .required(),
    limited: ref(2, LimitedPriorityLevelConfiguration, "How requests are limited."),
    exempt: ref(3, ExemptPriorityLevelConfiguration, "What a level that is exempt lends to others."),
  },
  {
    union: { discriminator: "type", fields: { exempt: "Exempt", limited: "Limited" } },
    *check({ type, limited, exempt }) {
      if (type === "Exempt" && limited) yield forbidden("limited", "must be nil if the type is not Limited");
      if (type === "Limited" && exempt) yield forbidden("exempt", "must be nil if the type is Limited");
      if (type === "Limited" && !limited) yield required("limited", "must not be empty when type is Limited");
    },
  },
);
export interface PriorityLevelConfigurationSpec extends Infer<typeof PriorityLevelConfigurationSpec> {}

export const PriorityLevelConfigurationStatus = struct(
  "flowcontrol/v1.PriorityLevelConfigurationStatus",
  {
    conditions: list(1, PriorityLevelConfigurationCondition, "What was found.").keyedBy("type"),
  },
  {
    *check({ conditions }) {
      yield* checkConditionTypes(conditions);
    },
  },
);
export interface PriorityLevelConfigurationStatus extends Infer<typeof PriorityLevelConfigurationStatus> {}

/** Set by an older version of the API to tell a share of zero from none; it has no place in this one. */
const preserveZero = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

export const PriorityLevelConfiguration = resource({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  kind: "PriorityLevelConfiguration",
  plural: "prioritylevelconfigurations",
  scope: "Cluster",
  doc: "A share of the server, and how requests wait for it.",
  fields: {
    spec: ref(2, PriorityLevelConfigurationSpec, "What is wanted.").default({}),
    status: ref(3, PriorityLevelConfigurationStatus, "What was found.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    { name: "Type", doc: "Whether requests are limited.", cell: ({ spec }) => spec.type },
    {
      name: "NominalConcurrencyShares",
      doc: "Its share of the server.",
      cell: ({ spec }) => spec.limited?.nominalConcurrencyShares ?? "<none>",
    },
    {
      name: "Queues",
      doc: "How many queues there are.",
      cell: ({ spec }) => spec.limited?.limitResponse.queuing?.queues ?? "<none>",
    },
    {
      name: "HandSize",
      doc: "How many queues a flow is dealt.",
      cell: ({ spec }) => spec.limited?.limitResponse.queuing?.handSize ?? "<none>",
    },
    {
      name: "QueueLengthLimit",
      doc: "How many requests may wait in a queue.",
      cell: ({ spec }) => spec.limited?.limitResponse.queuing?.queueLengthLimit ?? "<none>",
    },
    ageColumn,
  ],
  problemOrder: "spec.type spec",
  *check({ metadata, spec }) {
    const { name = "" } = metadata;
    if (metadata.annotations?.[preserveZero] !== undefined)
      yield forbidden("metadata.annotations", `annotation '${preserveZero}' is forbidden`);
    if ((name === "exempt") !== (spec.type === "Exempt"))
      yield invalid("spec.type", "must be 'Exempt' if and only if `name` is 'exempt'");
    const fixed = mandatoryPriorityLevels.get(name);
    if (!fixed) return;
    const { exempt: _, ...rest } = spec;
    if (name === "exempt" && !equal(rest, fixed))
      yield invalid("spec", "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value");
    if (name !== "exempt" && !equal(spec, fixed)) yield invalid("spec", `spec of '${name}' must equal the fixed value`);
  },
});
export interface PriorityLevelConfiguration extends Infer<typeof PriorityLevelConfiguration> {}
