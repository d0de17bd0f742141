// Upstream: plugin/pkg/admission/namespace/exists/admission.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import { notFound } from "#wire/status.ts";
import { admissionPlugin, find } from "./plugin.ts";

/** Nothing happens in a namespace that does not exist. NamespaceLifecycle says the same and more. */
export const namespaceExists = admissionPlugin({
  name: "NamespaceExists",
  on: { verbs: ["create", "update", "delete"], through: ["*"] },
  async validate(asked) {
    const { kind, namespace } = asked;
    if (namespace === "" || kind === Namespace || (await find(asked, Namespace, namespace))) return undefined;
    throw notFound({ group: "", resource: "namespaces" }, namespace);
  },
});
