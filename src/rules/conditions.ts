// Reads the conditions of an object, which has at most one of each type.

interface TypedCondition {
  readonly type?: string | undefined;
}

export const conditionIn = <C extends TypedCondition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined => conditions?.find((condition) => condition.type === type);

interface ConditionHolder {
  readonly status: { readonly conditions?: readonly (TypedCondition & { readonly status: string })[] | undefined };
}

/** Whether the condition Ready of a pod, a node or another object is True. */
export const isReady = ({ status: { conditions } }: ConditionHolder): boolean =>
  conditionIn(conditions, "Ready")?.status === "True";
