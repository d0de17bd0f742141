// What the server says of a definition. Follows apiextensions-apiserver/pkg/controller/{status,establish,nonstructuralschema,apiapproval}.
import { approvalOf } from "#api/apiextensions/v1/approval.ts";
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
} from "#api/apiextensions/v1/custom-resource-definition.ts";
import { checkStructural } from "#api/apiextensions/v1/structural.ts";
import { equal } from "#base/collections.ts";
import { invalid, type Problem, problemText } from "#schema/problem.ts";
import { acceptNames, hasItsNames, type TakenNames } from "./names.ts";

type Status = CustomResourceDefinition["status"];
type Condition = CustomResourceDefinitionCondition;

export interface NewCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

export const conditionOf = (
  { status }: Pick<CustomResourceDefinition, "status">,
  type: string,
): Condition | undefined => status.conditions?.find((condition) => condition.type === type);

export const isTrue = (definition: Pick<CustomResourceDefinition, "status">, type: string): boolean =>
  conditionOf(definition, type)?.status === "True";

/** The conditions with one set; `now` is when it changed, if it did. */
export function withCondition(conditions: readonly Condition[], set: NewCondition, now: string): readonly Condition[] {
  const present = conditions.find(({ type }) => type === set.type);
  if (!present) return [...conditions, { ...set, lastTransitionTime: now }];
  const lastTransitionTime = present.status === set.status ? (present.lastTransitionTime ?? now) : now;
  return conditions.map((one) => (one === present ? { ...one, ...set, lastTransitionTime } : one));
}

/**
 * The status of a definition once its names have been looked at. A definition that has its names is established by whoever serves it, so
 * until then it says that it is being installed.
 */
export function namedStatus(definition: CustomResourceDefinition, taken: TakenNames, now: string): Status {
  const { spec, status } = definition;
  let conditions: readonly Condition[] = status.conditions ?? [];
  const set = (condition: NewCondition | undefined): void => {
    if (condition) conditions = withCondition(conditions, condition, now);
  };
  let { acceptedNames } = status;
  if (!hasItsNames(definition)) {
    const { names, conflict } = acceptNames(spec.names, acceptedNames, taken);
    acceptedNames = names as Status["acceptedNames"];
    set(
      conflict
        ? { type: "NamesAccepted", status: "False", ...conflict }
        : { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" },
    );
    const established = conditions.find(({ type }) => type === "Established");
    if (!conflict && established?.status !== "True")
      set({
        type: "Established",
        status: "False",
        reason: "Installing",
        message: "the initial names have been accepted",
      });
    else if (!established)
      set({ type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" });
  }
  const violations = violationsOf(definition);
  if (violations === undefined) conditions = conditions.filter(({ type }) => type !== "NonStructuralSchema");
  else set({ type: "NonStructuralSchema", status: "True", reason: "Violations", message: violations });
  set(approvalCondition(definition));
  const next = { ...status, acceptedNames, conditions };
  return equal(next, status) ? status : next;
}

/** The status of a definition that is served, or would be if its webhook could be believed. */
export function establishedStatus(definition: CustomResourceDefinition, isTrusted: boolean, now: string): Status {
  const { status } = definition;
  if (!isTrue(definition, "NamesAccepted") || isTrue(definition, "Established")) return status;
  const established: NewCondition = isTrusted
    ? {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
      }
    : {
        type: "Established",
        status: "False",
        reason: "InvalidCABundle",
        message: "The conversion webhook CABundle is invalid",
      };
  const next = { ...status, conditions: withCondition(status.conditions ?? [], established, now) };
  return equal(next, status) ? status : next;
}

/** What keeps the schemas from being structural; only definitions from before that was asked have any. */
function violationsOf({ spec }: CustomResourceDefinition): string | undefined {
  const problems: Problem[] = spec.preserveUnknownFields
    ? [invalid("spec.preserveUnknownFields", "must be false", true)]
    : [];
  for (const [i, { schema }] of spec.versions.entries())
    if (schema?.openAPIV3Schema)
      problems.push(...checkStructural(schema.openAPIV3Schema, `spec.versions[${i}].schema.openAPIV3Schema`));
  const texts = [...new Set(problems.map(problemText))];
  if (texts.length === 0) return undefined;
  return texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
}

const approvalReasons = {
  missing: ["False", "MissingAnnotation"],
  invalid: ["False", "InvalidAnnotation"],
  approved: ["True", "ApprovedAnnotation"],
  bypassed: ["False", "UnapprovedAnnotation"],
} as const;

function approvalCondition({ metadata, spec }: CustomResourceDefinition): NewCondition | undefined {
  const approval = approvalOf(spec.group, metadata.annotations);
  if (!approval) return undefined;
  const [status, reason] = approvalReasons[approval.state];
  return { type: "KubernetesAPIApprovalPolicyConformant", status, reason, message: approval.message };
}
