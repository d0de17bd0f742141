// Upstream: plugin/pkg/admission/network/defaultingressclass/admission.go.
import { Ingress } from "#api/networking/v1/ingress.ts";
import { IngressClass } from "#api/networking/v1/ingress-class.ts";
import { defaultClass } from "#rules/default-class.ts";
import { admissionPlugin } from "./plugin.ts";

/** An ingress that names no class gets the default. */
export const defaultIngressClass = admissionPlugin({
  name: "DefaultIngressClass",
  on: { kind: Ingress, verbs: ["create"] },
  mutate({ object: { metadata, spec }, server }) {
    if (spec.ingressClassName !== undefined) return;
    if (metadata.annotations?.["kubernetes.io/ingress.class"] !== undefined) return;
    const found = defaultClass(server.list(IngressClass), "ingressclass.kubernetes.io/is-default-class");
    if (found) spec.ingressClassName = found.metadata.name;
  },
});
