// Where the files of the proxy are, and what its maps are called.
import type { ProxyState } from "../proxy-state.ts";

export interface HaproxyPlaces {
  /** For maps, certificates and sockets. */
  readonly folder: string;
  /** Ports of Ingresses, where they are served. */
  readonly ingress?: { readonly httpPort: number; readonly httpsPort: number };
  readonly metricsPort: number;
  readonly hasIpv6: boolean;
  /** Of whoever asks whether it is this configuration that runs. */
  readonly generation: number;
}

export const apiSocket = (folder: string): string => `${folder}/api.sock`;
export const certificateList = (folder: string, name: string): string => `${folder}/${name}.list`;
export const certificatePath = (folder: string, secret: string): string =>
  `${folder}/certificates/${secret.replace("/", "_")}.pem`;
/** For names without a certificate. */
export const defaultCertificate = "default";

export const mapNames = ["sites", "exact", "prefixes", "patterns", "hosts", "wildcards"] as const;
export type MapName = (typeof mapNames)[number];
export const mapPath = (folder: string, name: MapName): string => `${folder}/${name}.map`;

/** What a map has, as keys and values. */
export const mapOf = (state: ProxyState, name: MapName): ReadonlyMap<string, string> =>
  name === "sites" ? new Map([...state.sites].map((site) => [site, site])) : state[name];

export const mapText = (map: ReadonlyMap<string, string>): string =>
  [...map].map(([key, value]) => `${key} ${value}\n`).join("");

export const anyAddress = ({ hasIpv6 }: HaproxyPlaces, port: number): string =>
  hasIpv6 ? `:::${port} v4v6` : `:${port}`;
