// From the objects of the cluster to what the proxy is to do: a pure function.
import type { Secret } from "#api/core/v1/secret.ts";
import type { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { HTTPIngressPath, Ingress, IngressBackend } from "#api/networking/v1/ingress.ts";
import type { IngressClass } from "#api/networking/v1/ingress-class.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import { optionsOf, wantsPatterns } from "./annotations.ts";
import { serversIn } from "./endpoints.ts";
import { isPattern as isPatternOf } from "./patterns.ts";
import { emptyProxyState, ingressCertificates, type ProxyBackend, type ProxyState } from "./proxy-state.ts";
import type { RouteOptions } from "./route-options.ts";
import { certificateIn, type KeyPairCheck, textIn } from "./secrets.ts";

/** What the cluster has, by key. */
export interface IngressObjects {
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
  readonly service: (key: string) => Service | undefined;
  readonly slices: (service: string) => readonly EndpointSlice[];
  readonly secret: (key: string) => Secret | undefined;
  readonly isKeyPair: KeyPairCheck;
}

export const controllerName = "knarr.local/ingress";

export interface RoutingResult {
  readonly state: ProxyState;
  /** Those that are ours. */
  readonly ingresses: readonly Ingress[];
  /** What could not be done as an Ingress says. */
  readonly problems: readonly { readonly ingress: Ingress; readonly text: string }[];
}

/** Where two say something about the same path, the older one counts. */
export function routesOf(objects: IngressObjects): RoutingResult {
  const ingresses = objects.ingresses.filter((ingress) => isOurs(ingress, objects.classes)).toSorted(byAge);
  const builder = new StateBuilder(objects);
  for (const ingress of ingresses) builder.add(ingress);
  // Those without a path of their own come last: they are only for what nobody else has.
  for (const ingress of ingresses) builder.addDefault(ingress);
  return { state: builder.state(), ingresses, problems: builder.problems };
}

export function isOurs({ metadata, spec }: Ingress, classes: readonly IngressClass[]): boolean {
  const name = spec.ingressClassName ?? metadata.annotations?.["kubernetes.io/ingress.class"];
  if (metadata.deletionTimestamp !== undefined) return false;
  const own = classes.filter((one) => one.spec.controller === controllerName);
  if (name !== undefined) return own.some((one) => one.metadata.name === name);
  return own.some((one) => one.metadata.annotations?.["ingressclass.kubernetes.io/is-default-class"] === "true");
}

const byAge = (a: Ingress, b: Ingress): number => {
  const [first, second] = [a, b].map(
    ({ metadata }) => `${metadata.creationTimestamp ?? ""} ${metadata.namespace}/${metadata.name}`,
  ) as [string, string];
  return first < second ? -1 : first > second ? 1 : 0;
};

class StateBuilder {
  readonly problems: { readonly ingress: Ingress; readonly text: string }[] = [];
  readonly #objects: IngressObjects;
  readonly #sites = new Set<string>();
  readonly #exact = new Map<string, string>();
  readonly #prefixes = new Map<string, string>();
  readonly #patterns = new Map<string, string>();
  readonly #backends = new Map<string, ProxyBackend>();
  readonly #certificates = new Map<string, string>();
  readonly #certificateHosts = new Map<string, readonly string[]>();

  constructor(objects: IngressObjects) {
    this.#objects = objects;
  }

  state(): ProxyState {
    return {
      ...emptyProxyState,
      sites: this.#sites,
      exact: this.#exact,
      prefixes: this.#prefixes,
      patterns: new Map([...this.#patterns].toSorted(([a], [b]) => b.length - a.length || (a < b ? -1 : 1))),
      backends: this.#backends,
      certificates: this.#certificates,
      certificateLists: new Map([[ingressCertificates, this.#certificateHosts]]),
    };
  }

  add(ingress: Ingress): void {
    const { spec } = ingress;
    for (const { hosts = [], secretName } of spec.tls ?? []) this.#addCertificate(ingress, hosts, secretName);
    for (const rule of spec.rules ?? []) {
      const site = rule.host || "*";
      for (const path of rule.http?.paths ?? []) this.#addPath(ingress, site, path);
    }
  }

  /** For the hosts of its rules, or for all if it has none. */
  addDefault(ingress: Ingress): void {
    const { defaultBackend, rules = [] } = ingress.spec;
    if (!defaultBackend) return;
    const sites = rules.length === 0 ? ["*"] : rules.map(({ host }) => host || "*");
    for (const site of sites) this.#addPath(ingress, site, { path: "/", pathType: "Prefix", backend: defaultBackend });
  }

  #addPath(ingress: Ingress, site: string, { path = "/", pathType, backend }: HTTPIngressPath): void {
    const problem = (text: string) => this.problems.push({ ingress, text });
    if (!/^\/[\x21-\x26\x28-\x7e]*$/.test(path || "/")) {
      problem(`path ${JSON.stringify(path)} has characters that no route may have`);
      return;
    }
    const annotations = ingress.metadata.annotations ?? {};
    const isPattern = pathType !== "Exact" && wantsPatterns(annotations);
    if (isPattern && !isPatternOf(path)) {
      problem(`path ${JSON.stringify(path)} is no regular expression`);
      return;
    }
    const hasTls = (ingress.spec.tls ?? []).some(({ hosts = [] }) => hosts.length === 0 || hosts.includes(site));
    const options = optionsOf(
      {
        annotations,
        hasTls,
        ...(isPattern && { pattern: path }),
        passwords: (secret) => this.#passwords(ingress, secret),
      },
      problem,
    );
    const id = this.#addBackend(ingress, backend, options);
    if (id === undefined) {
      problem(`the backend of ${site}${path} is no service with such a port`);
      return;
    }
    this.#sites.add(site);
    const [map, key] = isPattern
      ? [this.#patterns, `^${site.replaceAll(/[.*]/g, "\\$&")}${path}`]
      : pathType === "Exact"
        ? [this.#exact, site + path]
        : [this.#prefixes, site + (pathType === "Prefix" ? `${path.replace(/\/+$/, "")}/` : path)];
    if (!map.has(key)) map.set(key, id);
  }

  /** The name of the backend says all that it depends on but its servers, so that those can change without another. */
  #addBackend({ metadata }: Ingress, { service: named }: IngressBackend, options: RouteOptions): string | undefined {
    if (!named) return undefined;
    const namespace = metadata.namespace ?? "";
    const key = `${namespace}/${named.name}`;
    const service = this.#objects.service(key);
    const { name, number } = named.port;
    const port = service?.spec.ports?.find((one) => (name ? one.name === name : one.port === number));
    if (!service || !port) return undefined;
    const hash = hex(sha256(JSON.stringify(options))).slice(0, 10);
    const id = `${namespace}_${named.name}_${port.port}_${hash}`;
    if (this.#backends.has(id)) return id;
    const addresses = this.#objects.slices(key).flatMap((slice) => serversIn(slice, port.name ?? ""));
    const server = { weight: 1, protocol: options.protocol };
    this.#backends.set(id, { options, servers: new Map(addresses.toSorted().map((address) => [address, server])) });
    return id;
  }

  #addCertificate(ingress: Ingress, hosts: readonly string[], secretName: string | undefined): void {
    if (secretName === undefined) return;
    const key = `${ingress.metadata.namespace}/${secretName}`;
    const pem = certificateIn(this.#objects.secret(key), this.#objects.isKeyPair);
    if (pem === undefined) {
      this.problems.push({ ingress, text: `secret ${secretName} has no tls.crt and tls.key that belong together` });
      return;
    }
    const known = this.#certificateHosts.get(key) ?? [];
    const names = hosts.filter((host) => /^[\w*.-]+$/.test(host));
    this.#certificates.set(key, pem);
    this.#certificateHosts.set(key, [...new Set([...known, ...names])].toSorted());
  }

  #passwords({ metadata }: Ingress, secret: string): string | undefined {
    const key = secret.includes("/") ? secret : `${metadata.namespace}/${secret}`;
    // A Secret of another namespace is not the author's to use.
    if (!key.startsWith(`${metadata.namespace}/`)) return undefined;
    return textIn(this.#objects.secret(key), "auth");
  }
}
