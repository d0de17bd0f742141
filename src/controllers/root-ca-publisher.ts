// Publishes in every namespace what the API server's certificate is to be checked against.
// Upstream: pkg/controller/certificates/rootcacertpublisher/publisher.go.

import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { equal } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import { controller, watching } from "#client/controller.ts";
import { isNamespaceTerminating } from "./pod-writes.ts";

const name = "kube-root-ca.crt";
const annotation = "kubernetes.io/description";
const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
  "No other usage is guaranteed across distributions of Kubernetes clusters.";

/** `rootCa` is the bundle, in PEM. */
export const rootCaPublisher = (rootCa: string) =>
  controller({
    name: "root-ca-cert-publisher",
    queue: "root_ca_cert_publisher",
    for: Namespace,
    workers: 1,
    watches: [
      watching(ConfigMap, ({ metadata }) => (metadata.name === name ? [{ name: metadata.namespace ?? "" }] : [])),
    ],

    async reconcile({ metadata: { name: namespace }, status }, { client, cache }) {
      if (status.phase !== "Active") return;
      const data = { "ca.crt": rootCa };
      const present = cache.get(ConfigMap, { namespace, name });
      if (present) {
        const { annotations } = present.metadata;
        if (equal(present.data, data) && annotations?.[annotation]) return;
        const metadata = { ...present.metadata, annotations: { ...annotations, [annotation]: description } };
        await client.update(ConfigMap, { ...present, metadata, data });
        return;
      }
      try {
        await client.create(ConfigMap, {
          metadata: { name, namespace, annotations: { [annotation]: description } },
          data,
        });
      } catch (error) {
        if (!isNotFound(error) && !isNamespaceTerminating(error)) throw error;
      }
    },
  });
