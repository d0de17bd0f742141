// What the conditions of an object say. A type stands among them once.

interface Typed {
  readonly type?: string | undefined;
}

export const conditionIn = <C extends Typed>(conditions: readonly C[] | undefined, type: string): C | undefined =>
  conditions?.find((condition) => condition.type === type);

interface Conditioned {
  readonly status: { readonly conditions?: readonly (Typed & { readonly status: string })[] | undefined };
}

/** Whether a pod, a node, or whatever else says so of itself is ready, by its status. */
export const isReady = ({ status: { conditions } }: Conditioned): boolean =>
  conditionIn(conditions, "Ready")?.status === "True";
