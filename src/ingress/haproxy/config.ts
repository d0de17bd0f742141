// What the proxy is to do, in the language of HAProxy.
import {
  errorServers,
  ingressCertificates,
  type ProxyBackend,
  type ProxyServer,
  type ProxyState,
} from "../proxy-state.ts";
import { forwardedLines, frontendText } from "./frontends.ts";
import {
  anyAddress,
  apiSocket,
  certificateList,
  certificatePath,
  defaultCertificate,
  type HaproxyPlaces,
  type MapName,
  mapPath,
} from "./places.ts";
import { quoted } from "./quoting.ts";
import { ruleLines } from "./rules.ts";

/** A line for each certificate, with the names it is for. */
export const certificateLines = (state: ProxyState, list: string, folder: string): string =>
  [
    ...(list === ingressCertificates ? [certificatePath(folder, defaultCertificate)] : []),
    ...[...(state.certificateLists.get(list) ?? [])].map(([secret, hosts]) => certificateLine(folder, secret, hosts)),
  ].join("\n");

export const certificateLine = (folder: string, secret: string, hosts: readonly string[]): string =>
  [certificatePath(folder, secret), ...hosts].join(" ");

/** The file, with the servers of the backends. */
export const configText = (state: ProxyState, places: HaproxyPlaces): string =>
  [
    head(places),
    ...(places.ingress ? [ingressFrontend(places, places.ingress)] : []),
    ...state.frontends.map((frontend) => frontendText(frontend, places)),
    ...[...state.backends].map(([id, backend]) => backendText(id, backend, places.folder)),
  ].join("\n");

const head = (places: HaproxyPlaces): string => {
  const { folder, generation } = places;
  return `global
  setenv GENERATION ${generation}
  stats socket ${apiSocket(folder)} mode 600 level admin expose-fd listeners
  hard-stop-after 10m
  maxconn 8192
  tune.bufsize 32768
  tune.http.maxhdr 101
  ssl-default-bind-options ssl-min-ver TLSv1.2
defaults
  mode http
  option redispatch 1
  retries 3
  timeout client 60s
  timeout connect 5s
  timeout server 60s
  timeout queue 5s
  timeout http-request 10s
  timeout http-keep-alive 60s
  timeout tunnel 1h
frontend metrics
  bind ${anyAddress(places, places.metricsPort)}
  http-request use-service prometheus-exporter if { path /metrics }
  http-request return status 200 content-type text/plain string "ok\\n"
${Object.entries(errorServers)
  .map(
    ([server, status]) => `frontend answer-${status}
  bind ${serverAddress(server, folder)}
  http-request return status ${status}`,
  )
  .join("\n")}
backend nothing
  http-request return status 404 content-type text/plain string "default backend - 404\\n"
backend not-found
  http-request return status 404
`;
};

function ingressFrontend(places: HaproxyPlaces, ports: NonNullable<HaproxyPlaces["ingress"]>): string {
  const { folder } = places;
  const at = (name: MapName) => mapPath(folder, name);
  const missing = "if !{ var(txn.backend) -m found }";
  return `frontend routes
  bind ${anyAddress(places, ports.httpPort)}
  bind ${anyAddress(places, ports.httpsPort)} ssl crt-list ${certificateList(folder, ingressCertificates)} alpn h2,http/1.1
  http-request set-var(txn.host) req.hdr(host),field(1,:),lower
  http-request set-var(txn.path) path
  http-request set-var(txn.site) var(txn.host),map_str(${at("sites")})
  http-request set-var(txn.site) var(txn.host),regsub(^[^.]*,*),map_str(${at("sites")}) if !{ var(txn.site) -m found }
  http-request set-var(txn.site) str(*),map_str(${at("sites")}) if !{ var(txn.site) -m found }
  http-request set-var(txn.where) var(txn.site),concat(,txn.path)
  http-request set-var(txn.backend) var(txn.where),map_str(${at("exact")})
  http-request set-var(txn.backend) var(txn.where),map_reg(${at("patterns")}) ${missing}
  http-request set-var(txn.backend) var(txn.where),concat(/),map_beg(${at("prefixes")}) ${missing}
${forwardedLines("%[dst_port]")
  .map((line) => `  ${line}`)
  .join("\n")}
  use_backend %[var(txn.backend)] if { var(txn.backend) -m found }
  default_backend nothing
`;
}

function backendText(id: string, { options, servers }: ProxyBackend, folder: string): string {
  const lines = [`backend ${id}`, "  balance roundrobin", ...ruleLines(options, id)];
  for (const [address, server] of servers)
    lines.push(`  server ${serverName(address)} ${serverText(address, server, folder)}`);
  const users = options.users?.map(({ name, hash }) => `  user ${name} password ${quoted(hash)}`);
  return [...(users ? [`userlist ${id}`, ...users] : []), ...lines, ""].join("\n");
}

export const serverName = (address: string): string => `s_${address.replaceAll(/[[\]:@]/g, "_")}`;

const serverAddress = (address: string, folder: string): string =>
  address.startsWith("@") ? `unix@${folder}/answer-${address.slice(1)}.sock` : address;

const protocolOptions = {
  HTTP: "",
  TCP: "",
  HTTPS: " ssl verify none",
  GRPC: " proto h2",
  GRPCS: " ssl verify none alpn h2",
} as const;

/** Its address, and what stands behind it. */
export const serverText = (address: string, { weight, protocol }: ProxyServer, folder: string): string =>
  `${serverAddress(address, folder)}${weight === 1 ? "" : ` weight ${weight}`}${protocolOptions[protocol]}`;
