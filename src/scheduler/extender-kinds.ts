// Extenders in a KubeSchedulerConfiguration: HTTP servers that are asked besides the plugins.
// Upstream: pkg/scheduler/apis/config/types.go and pkg/scheduler/apis/config/validation/validation.go.
import { isExtended } from "#api/core/v1/amounts.ts";
import { qualifiedName } from "#schema/formats.ts";
import {
  bool,
  bytes,
  duration,
  type Infer,
  int64,
  invalid,
  list,
  type Problem,
  ref,
  string,
  struct,
} from "#schema/index.ts";

const ExtenderManagedResource = struct("kubescheduler.config/v1.ExtenderManagedResource", {
  name: string(1, "Name of the extended resource.").required(),
  ignoredByScheduler: bool(2, "Whether the scheduler does not look whether nodes have enough of it."),
});

const ExtenderTLSConfig = struct("kubescheduler.config/v1.ExtenderTLSConfig", {
  insecure: bool(1, "Whether the certificate of the server is not verified."),
  serverName: string(2, "Name that the certificate must have; defaults to that of the URL."),
  certFile: string(3, "Client certificate to show."),
  keyFile: string(4, "Key of that certificate."),
  caFile: string(5, "Authorities that may have signed the certificate of the server."),
  certData: bytes(6, "The client certificate itself."),
  keyData: bytes(7, "Its key itself."),
  caData: bytes(8, "The authorities themselves."),
});

const extenderFields = {
  urlPrefix: string(1, "Where the extender is.").required(),
  filterVerb: string(2, "Appended to the URL to ask which nodes will do; empty: it is not asked."),
  preemptVerb: string(3, "The same to ask which pods may be sent away."),
  prioritizeVerb: string(4, "The same to ask how good nodes are."),
  weight: int64(5, "How much its scores count."),
  bindVerb: string(6, "The same to have it bind pods."),
  enableHTTPS: bool(7, "Whether to use HTTPS even without tlsConfig; certificates are then not verified."),
  tlsConfig: ref(8, ExtenderTLSConfig, "How to verify it, and who we are there."),
  httpTimeout: duration(9, "How long to wait for an answer; 5s by default."),
  nodeCacheCapable: bool(10, "Whether it knows the nodes: it is then told only their names."),
  managedResources: list(11, ExtenderManagedResource, "It is asked only about pods that want any of these."),
  ignorable: bool(12, "Whether scheduling goes on without it when it fails."),
};
export const Extender = struct("kubescheduler.config/v1.Extender", extenderFields);
export interface Extender extends Infer<typeof Extender> {}

/** Extenders of old policy files, in which the timeout is a number of nanoseconds. */
export const LegacyExtender = struct("scheduler/v1.LegacyExtender", {
  ...extenderFields,
  enableHttps: bool(20, "Whether to use HTTPS."),
  httpTimeout: int64(9, "How long to wait for an answer, in nanoseconds."),
});

export function* checkExtenders(extenders: readonly Extender[]): Iterable<Problem> {
  const managed = new Set<string>();
  for (const [i, { prioritizeVerb, weight = 0, managedResources = [] }] of extenders.entries()) {
    if (prioritizeVerb && weight <= 0)
      yield invalid(`extenders[${i}].weight`, "must have a positive weight applied to it");
    for (const [j, { name }] of managedResources.entries()) {
      const at = `extenders[${i}].managedResources[${j}].name`;
      const problems = qualifiedName(name);
      for (const problem of problems) yield invalid(at, problem);
      if (problems.length === 0 && !isExtended(name)) yield invalid(at, "is an invalid extended resource name");
      if (managed.has(name)) yield invalid(at, "duplicate extender managed resource name");
      managed.add(name);
    }
  }
  if (extenders.filter(({ bindVerb }) => bindVerb).length > 1)
    yield invalid("extenders", "only one extender can implement bind");
}
