// What all parts of the control plane that run alone have in common, by upstream's names.

import { tlsFlags } from "../tls-settings.ts";

/** Health and metrics were once served without TLS, on 10251 by the scheduler and on 10252 by the controller manager. */
export const aloneFlags = (lease: string, port: number, insecurePort: number) =>
  ({
    kubeconfig: { type: "string", value: "FILE", help: "Where the API server is, and who we are there" },
    "bind-address": { type: "string", value: "IP", default: "0.0.0.0", help: "Address to serve health and metrics on" },
    "secure-port": { type: "int", default: port, help: "Port to serve them on; 0 serves none" },
    "tls-cert-file": { type: "string", value: "FILE", help: "Certificate to serve with; defaults to one of our own" },
    "tls-private-key-file": { type: "string", value: "FILE", help: "Key of that certificate" },
    ...tlsFlags,
    port: {
      type: "int",
      default: 0,
      help: `Port to serve them on without TLS and without asking who it is, ${insecurePort} as of old; 0 is off`,
    },
    address: {
      type: "string",
      value: "IP",
      default: "127.0.0.1",
      help: "Address of that port; only those of this machine alone are taken",
    },
    "leader-elect": { type: "bool", default: true, help: "Work only while no other does" },
    "leader-elect-lease-duration": {
      type: "string",
      value: "DURATION",
      default: "15s",
      help: "How long others wait for a leader that is silent",
    },
    "leader-elect-renew-deadline": {
      type: "string",
      value: "DURATION",
      default: "10s",
      help: "When a leader that cannot renew its lease gives up",
    },
    "leader-elect-retry-period": {
      type: "string",
      value: "DURATION",
      default: "2s",
      help: "How often the lease is renewed, or tried for",
    },
    "leader-elect-resource-lock": { type: "string", default: "leases", help: "What leaders hold: leases" },
    "leader-elect-resource-name": { type: "string", default: lease, help: "Name of the lease" },
    "leader-elect-resource-namespace": { type: "string", default: "kube-system", help: "Namespace of the lease" },
    "authentication-kubeconfig": unused,
    "authorization-kubeconfig": unused,
    "client-ca-file": {
      type: "string",
      value: "FILE",
      help: "Authority whose client certificates are believed of those who ask for metrics",
    },
    "requestheader-client-ca-file": unused,
    v: { type: "int", default: 0, help: "Log more: 2 adds details" },
  }) as const;

/** Upstream may ask another API server than the one it works for. */
const unused = {
  type: "string",
  value: "FILE",
  help: "Accepted; who may see the metrics is asked of the API server of --kubeconfig",
} as const;

/** Settings that all of them have. */
export interface AloneSettings {
  readonly kubeconfig: string | undefined;
  readonly "bind-address": string;
  readonly "secure-port": number;
  readonly "tls-cert-file": string | undefined;
  readonly "tls-private-key-file": string | undefined;
  readonly "tls-min-version": string;
  readonly "tls-cipher-suites": readonly string[];
  readonly "client-ca-file": string | undefined;
  readonly port: number;
  readonly address: string;
  readonly "leader-elect": boolean;
  readonly "leader-elect-lease-duration": string;
  readonly "leader-elect-renew-deadline": string;
  readonly "leader-elect-retry-period": string;
  readonly "leader-elect-resource-lock": string;
  readonly "leader-elect-resource-name": string;
  readonly "leader-elect-resource-namespace": string;
  readonly v: number;
}
