interface Phased {
  readonly status: { readonly phase?: string | undefined };
}

/** Whether nothing of the pod runs any more, nor ever will. */
export const hasEnded = ({ status: { phase } }: Phased): boolean => phase === "Succeeded" || phase === "Failed";
