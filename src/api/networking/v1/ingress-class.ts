import { type Infer, ref, resource, string, struct } from "#schema/index.ts";

export const IngressClassParametersReference = struct("networking/v1.IngressClassParametersReference", {
  apiGroup: string(1).pointer(),
  kind: string(2).required(),
  name: string(3).required(),
  scope: string(4).pointer(),
  namespace: string(5).pointer(),
});
export interface IngressClassParametersReference extends Infer<typeof IngressClassParametersReference> {}

export const IngressClassSpec = struct("networking/v1.IngressClassSpec", {
  controller: string(1),
  parameters: ref(2, IngressClassParametersReference),
});
export interface IngressClassSpec extends Infer<typeof IngressClassSpec> {}

export const IngressClass = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "IngressClass",
  plural: "ingressclasses",
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, IngressClassSpec).default({}),
  },
});
export interface IngressClass extends Infer<typeof IngressClass> {}
