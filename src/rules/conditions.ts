// What the conditions of an object say. A type stands among them once.

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

/** Whether a pod, a node, or whatever else says so of itself is ready, by its status. */
export const isReady = ({ status: { conditions } }: ConditionHolder): boolean =>
  conditionIn(conditions, "Ready")?.status === "True";
