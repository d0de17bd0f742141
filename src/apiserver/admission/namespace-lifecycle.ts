import { Namespace } from "#api/core/v1/namespace.ts";
import { ApiError } from "#base/errors.ts";
import { notFound } from "#wire/status.ts";
import { type AdmissionPlugin, admissionPlugin, pluginOf, refused } from "./plugin.ts";

const immortal = new Set(["default", "kube-system", "kube-public"]);
/** How long the cache is not believed when it says that a namespace deleted here is still active. */
const doubtMs = 30_000;

/** Nothing is made in a namespace that is missing or on its way out, and the namespaces of the system itself stay. */
export function namespaceLifecycle(): AdmissionPlugin {
  const deleted = new Map<string, number>();

  const deletion = admissionPlugin({
    name: "NamespaceLifecycle",
    on: { kind: Namespace, verbs: ["delete"] },
    mutate({ name, server: { clock } }) {
      if (immortal.has(name)) return "this namespace may not be deleted";
      const now = clock.elapsed();
      for (const [other, at] of deleted) if (now - at > doubtMs) deleted.delete(other);
      deleted.set(name, now);
      return undefined;
    },
  });

  const content = admissionPlugin({
    name: "NamespaceLifecycle",
    on: { verbs: ["create", "update"], through: ["*"] },
    async mutate(asked) {
      const { kind, namespace, operation, server, signal } = asked;
      if (namespace === "" || kind === Namespace || kind.group === "authorization.k8s.io") return;
      let found = server.get(Namespace, namespace);
      const deletedAt = deleted.get(namespace);
      const doubted = deletedAt !== undefined && server.clock.elapsed() - deletedAt <= doubtMs;
      if (!found || (doubted && found.status.phase === "Active")) {
        await server.settled(signal);
        found = server.get(Namespace, namespace);
      }
      if (!found) throw notFound({ group: "", resource: "namespaces" }, namespace);
      if (operation === "update" || found.status.phase !== "Terminating") return;
      const { code, reason, message, details } = refused(
        asked,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
      );
      const cause = {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      };
      throw new ApiError({ code, reason, message, details: { ...details, causes: [cause] } });
    },
  });

  return pluginOf("NamespaceLifecycle", deletion, content);
}
