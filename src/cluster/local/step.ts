/** How far a cluster has come since it was started. */
export type StartStep = { readonly is: "serving"; readonly url: string } | { readonly is: "ready" };
