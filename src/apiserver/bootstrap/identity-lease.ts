// The lease by which one can see which servers there are. Upstream: pkg/controlplane/apiserver/server.go.
import { Lease } from "#api/coordination/v1/lease.ts";
import { sha256 } from "#base/sha256.ts";
import type { ApiObject } from "#schema/object.ts";
import { microTimeOf } from "#schema/time.ts";

export const leaseNamespace = "kube-system";
const identityLabel = "apiserver.kubernetes.io/identity";
const identity = "kube-apiserver";
const leaseSeconds = 3600;

export interface ServerIdentity {
  readonly hostname: string;
  /** Tells this run of the server from those before it. */
  readonly holder: string;
  /** Where other servers would reach it. */
  readonly peer: string | undefined;
}

/** The same for each run of a server on one machine. */
export function leaseName({ hostname }: ServerIdentity): string {
  const part = (text: string) => {
    const bytes = new TextEncoder().encode(text);
    return [bytes.length >> 8, bytes.length & 0xff, ...bytes];
  };
  const hash = sha256(Uint8Array.from([...part(hostname), ...part(identity)]));
  return `apiserver-${base32(hash.subarray(0, 16))}`;
}

/** The lease with a new time of renewal. */
export function renewedLease(server: ServerIdentity, present: ApiObject | undefined, now: number): ApiObject {
  const name = leaseName(server);
  const { hostname, holder, peer } = server;
  return {
    ...present,
    apiVersion: Lease.apiVersion,
    kind: Lease.kind,
    metadata: {
      ...present?.metadata,
      name,
      namespace: leaseNamespace,
      labels: { ...present?.metadata.labels, [identityLabel]: identity, "kubernetes.io/hostname": hostname },
      annotations: {
        ...present?.metadata.annotations,
        ...(peer !== undefined && { "kubernetes.io/peer-advertise-address": peer }),
      },
    },
    spec: {
      ...present?.spec,
      holderIdentity: `${name}_${holder}`,
      leaseDurationSeconds: leaseSeconds,
      renewTime: microTimeOf(now),
    },
  };
}

/** Whether it is the lease of a server that has not been heard of for as long as its lease was good for. */
export function isStale({ metadata, spec }: ApiObject, now: number): boolean {
  if (metadata.labels?.[identityLabel] !== identity) return false;
  const { renewTime, leaseDurationSeconds } = spec ?? {};
  if (renewTime === undefined || leaseDurationSeconds === undefined) return true;
  return Date.parse(renewTime) + leaseDurationSeconds * 1000 < now;
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

function base32(bytes: Uint8Array): string {
  let text = "";
  for (let bit = 0; bit < bytes.length * 8; bit += 5) {
    const at = bit >> 3;
    const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    text += alphabet[(pair >> (11 - (bit & 7))) & 31];
  }
  return text;
}
