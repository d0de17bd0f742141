// What other servers have to know to believe this one's clients, and since when legacy tokens are followed.
// Upstream: pkg/controlplane/controller/clusterauthenticationtrust, pkg/controlplane/controller/legacytokentracking.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { timeOf } from "#schema/time.ts";
import type { RequestHeaderTrust } from "#serving/request-headers.ts";
import type { SystemObject } from "./objects.ts";

const configMap = (name: string, data: Readonly<Record<string, string>>): SystemObject => ({
  kind: ConfigMap,
  object: {
    apiVersion: ConfigMap.apiVersion,
    kind: ConfigMap.kind,
    metadata: { name, namespace: "kube-system" },
    ...(Object.keys(data).length > 0 && { data }),
  },
});

/** Kept as it is now: whoever reads it must know the authorities that are believed, not those that once were. */
export const authenticationInfo = (
  clientCa: string | undefined,
  requestHeaders: RequestHeaderTrust | undefined,
): SystemObject => ({
  ...configMap("extension-apiserver-authentication", {
    ...(clientCa !== undefined && { "client-ca-file": clientCa }),
    ...(requestHeaders && requestHeaderData(requestHeaders)),
  }),
  isKept: true,
});

const requestHeaderData = ({ clientCa, names, allowedNames }: RequestHeaderTrust): Record<string, string> => ({
  "requestheader-username-headers": JSON.stringify(names.username),
  ...(names.uid.length > 0 && { "requestheader-uid-headers": JSON.stringify(names.uid) }),
  "requestheader-group-headers": JSON.stringify(names.group),
  "requestheader-extra-headers-prefix": JSON.stringify(names.extraPrefixes),
  "requestheader-client-ca-file": clientCa,
  "requestheader-allowed-names": JSON.stringify(allowedNames),
});

export const tokenTracking = (now: number): SystemObject =>
  configMap("kube-apiserver-legacy-service-account-token-tracking", { since: timeOf(now).slice(0, 10) });
