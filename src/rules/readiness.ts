interface Conditioned {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[] | undefined;
}

/** Whether a pod or a node is ready, by its status. */
export const isReady = ({ status: { conditions } }: { readonly status: Conditioned }): boolean =>
  conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
