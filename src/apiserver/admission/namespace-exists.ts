import { Namespace } from "#api/core/v1/namespace.ts";
import { notFound } from "#wire/status.ts";
import { admissionPlugin } from "./plugin.ts";

/** Nothing happens in a namespace that does not exist. NamespaceLifecycle says the same and more. */
export const namespaceExists = admissionPlugin({
  name: "NamespaceExists",
  on: { verbs: ["create", "update", "delete"], through: ["*"] },
  async validate({ kind, namespace, server, signal }) {
    if (namespace === "" || kind === Namespace || server.get(Namespace, namespace)) return undefined;
    await server.settled(signal);
    if (!server.get(Namespace, namespace)) throw notFound({ group: "", resource: "namespaces" }, namespace);
    return undefined;
  },
});
