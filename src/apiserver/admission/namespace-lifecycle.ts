// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import { ApiError } from "#base/errors.ts";
import { soon } from "#base/soon.ts";
import type { ApiObject } from "#schema/object.ts";
import { notFound } from "#wire/status.ts";
import {
  type AdmissionPlugin,
  type AdmissionRefusal,
  type AdmissionRequest,
  admissionPlugin,
  find,
  pluginOf,
  refused,
} from "./plugin.ts";

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
    mutate(asked) {
      const { kind, namespace, server } = asked;
      if (namespace === "" || kind === Namespace || kind.group === "authorization.k8s.io") return undefined;
      return soon(find(asked, Namespace, namespace), (found) => {
        const deletedAt = deleted.get(namespace);
        const isDoubted = deletedAt !== undefined && server.clock.elapsed() - deletedAt <= doubtMs;
        if (!isDoubted || found?.status.phase !== "Active") return judge(asked, found);
        return server.settled(asked.signal).then(() => judge(asked, server.get(Namespace, namespace)));
      });
    },
  });

  return pluginOf("NamespaceLifecycle", deletion, content);
}

function judge(
  asked: AdmissionRequest<ApiObject, ApiObject | undefined>,
  found: Namespace | undefined,
): AdmissionRefusal {
  const { namespace, operation } = asked;
  if (!found) throw notFound({ group: "", resource: "namespaces" }, namespace);
  if (operation === "update" || found.status.phase !== "Terminating") return undefined;
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
}
