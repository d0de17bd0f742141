/** How far a cluster has come since it was started. */
export type Step = { readonly is: "serving"; readonly url: string } | { readonly is: "ready" };
