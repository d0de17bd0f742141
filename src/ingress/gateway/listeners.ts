// What a listener of a Gateway is, and what is wrong with it.
import type { Secret } from "#api/core/v1/secret.ts";
import { certificateIn, type KeyPairCheck } from "../secrets.ts";
import {
  type GatewayListener,
  type GatewayObject,
  gatewayGroup,
  type ReferenceGrantObject,
  type RouteGroupKind,
  type RouteKindName,
} from "./kinds.ts";
import { isPermitted, type ReferenceProblem } from "./references.ts";

export type ListenerMode = "http" | "https" | "terminate" | "passthrough";

export interface ListenerProblem {
  readonly reason: string;
  readonly message: string;
}

export interface ListenerState {
  readonly gateway: GatewayObject;
  readonly listener: GatewayListener;
  readonly mode: ListenerMode | undefined;
  readonly kinds: readonly RouteKindName[];
  /** Why it cannot be at all. */
  readonly refusal?: ListenerProblem;
  readonly conflict?: ListenerProblem;
  /** What it names and cannot have. */
  readonly unresolved?: ListenerProblem;
  /** Certificates by their Secrets. */
  readonly certificates: ReadonlyMap<string, string>;
}

export interface ListenerSources {
  readonly secret: (key: string) => Secret | undefined;
  readonly grants: readonly ReferenceGrantObject[];
  readonly isKeyPair: KeyPairCheck;
}

/** Whether it takes requests: with a part of its certificates it does. */
export const isServed = ({ mode, refusal, conflict, certificates }: ListenerState): boolean =>
  mode !== undefined && !refusal && !conflict && (mode === "http" || mode === "passthrough" || certificates.size > 0);

const kindsOf: Readonly<Record<ListenerMode, readonly RouteKindName[]>> = {
  http: ["HTTPRoute", "GRPCRoute"],
  https: ["HTTPRoute", "GRPCRoute"],
  terminate: ["TLSRoute"],
  passthrough: ["TLSRoute"],
};

export function listenersOf(gateway: GatewayObject, sources: ListenerSources): readonly ListenerState[] {
  const { listeners } = gateway.spec;
  return listeners.map((listener) => {
    const mode = modeOf(listener);
    if (!mode) {
      const message = `the protocol ${listener.protocol} is not supported`;
      const refusal = { reason: "UnsupportedProtocol", message };
      return { gateway, listener, mode, kinds: [], refusal, certificates: new Map() };
    }
    const { kinds, problem } = allowedKinds(listener, mode);
    const { certificates, problem: unresolved } = certificatesOf(gateway, listener, mode, sources);
    const conflict = conflictOf(listener, mode, listeners);
    return {
      gateway,
      listener,
      mode,
      kinds,
      certificates,
      ...((problem ?? unresolved) && { unresolved: problem ?? unresolved }),
      ...(conflict && { conflict }),
    };
  });
}

function modeOf({ protocol, tls }: GatewayListener): ListenerMode | undefined {
  if (protocol === "HTTP") return "http";
  if (protocol === "HTTPS") return "https";
  if (protocol === "TLS") return tls?.mode === "Passthrough" ? "passthrough" : "terminate";
  return undefined;
}

function allowedKinds({ allowedRoutes }: GatewayListener, mode: ListenerMode) {
  const all = kindsOf[mode];
  const asked = allowedRoutes?.kinds ?? [];
  if (asked.length === 0) return { kinds: all };
  const named = ({ group = gatewayGroup, kind }: RouteGroupKind) =>
    group === gatewayGroup ? all.find((one) => one === kind) : undefined;
  const kinds = asked.map(named).filter((kind) => kind !== undefined);
  if (kinds.length === asked.length) return { kinds };
  const wrong = asked.filter((one) => !named(one)).map(({ kind }) => kind);
  const message = `the listener cannot have routes of kind ${wrong.join(", ")}`;
  return { kinds, problem: { reason: "InvalidRouteKinds", message } };
}

/** On one port there is either plain text or TLS, and a host belongs to one listener. */
function conflictOf(listener: GatewayListener, mode: ListenerMode, all: readonly GatewayListener[]) {
  const others = all.filter((one) => one.name !== listener.name && one.port === listener.port && modeOf(one));
  const protocol = others.find((one) => (modeOf(one) === "http") !== (mode === "http"));
  if (protocol)
    return { reason: "ProtocolConflict", message: `the listener ${protocol.name} has another protocol on the port` };
  const host = others.find((one) => (one.hostname ?? "") === (listener.hostname ?? ""));
  return host && { reason: "HostnameConflict", message: `the listener ${host.name} has the same hostname` };
}

function certificatesOf(
  { metadata }: GatewayObject,
  { tls }: GatewayListener,
  mode: ListenerMode,
  { secret, grants, isKeyPair }: ListenerSources,
): { readonly certificates: ReadonlyMap<string, string>; readonly problem?: ReferenceProblem } {
  const certificates = new Map<string, string>();
  if (mode === "http" || mode === "passthrough") return { certificates };
  const own = metadata.namespace ?? "";
  let problem: ReferenceProblem | undefined;
  for (const { group = "", kind = "Secret", namespace = own, name } of tls?.certificateRefs ?? []) {
    const key = `${namespace}/${name}`;
    const isSecret = group === "" && kind === "Secret";
    if (isSecret && !isPermitted({ kind: "Gateway", namespace: own }, { group, kind, namespace, name }, grants)) {
      problem ??= { reason: "RefNotPermitted", message: `no ReferenceGrant of ${namespace} permits the secret ${key}` };
      continue;
    }
    const pem = isSecret ? certificateIn(secret(key), isKeyPair) : undefined;
    if (pem !== undefined) certificates.set(key, pem);
    else
      problem ??= {
        reason: "InvalidCertificateRef",
        message: `${kind} ${key} has no tls.crt and tls.key that belong together`,
      };
  }
  if (certificates.size === 0)
    problem ??= { reason: "InvalidCertificateRef", message: "the listener names no certificate" };
  return { certificates, ...(problem && { problem }) };
}
