// What the proxy is to do, in the language of HAProxy. All that comes from people stands in single quotes, within which nothing has a
// meaning; texts with such a quote or a line break do not get here (annotations.ts, routes.ts).
import type { RouteOptions } from "../annotations.ts";
import type { ProxyBackend, ProxyState } from "../proxy-state.ts";

export interface HaproxyPlaces {
  /** For maps, certificates and sockets. */
  readonly folder: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly metricsPort: number;
  readonly hasIpv6: boolean;
  /** Of whoever asks whether it is this configuration that runs. */
  readonly generation: number;
}

export const apiSocket = (folder: string): string => `${folder}/api.sock`;
export const certificateList = (folder: string): string => `${folder}/certificates.list`;
export const certificatePath = (folder: string, secret: string): string =>
  `${folder}/certificates/${secret.replace("/", "_")}.pem`;
export const defaultCertificate = "default";

export const mapNames = ["sites", "exact", "prefixes", "patterns"] as const;
export type MapName = (typeof mapNames)[number];
export const mapPath = (folder: string, name: MapName): string => `${folder}/${name}.map`;

/** What a map has, as keys and values. */
export const mapOf = (state: ProxyState, name: MapName): ReadonlyMap<string, string> =>
  name === "sites" ? new Map([...state.sites].map((site) => [site, site])) : state[name];

export const mapText = (map: ReadonlyMap<string, string>): string =>
  [...map].map(([key, value]) => `${key} ${value}\n`).join("");

/** A line for each certificate, with the names it is for. The first is for all other names. */
export const certificateLines = (state: ProxyState, folder: string): string =>
  [
    certificatePath(folder, defaultCertificate),
    ...[...state.certificates].map(([secret, { hosts }]) => certificateLine(folder, secret, hosts)),
  ].join("\n");

export const certificateLine = (folder: string, secret: string, hosts: readonly string[]): string =>
  [certificatePath(folder, secret), ...hosts].join(" ");

/** The file, with the servers of the backends. */
export const configText = (state: ProxyState, places: HaproxyPlaces): string =>
  [head(places), ...[...state.backends].map(([id, backend]) => backendText(id, backend))].join("\n");

const anyAddress = ({ hasIpv6 }: HaproxyPlaces, port: number): string => (hasIpv6 ? `:::${port} v4v6` : `:${port}`);

const head = (places: HaproxyPlaces): string => {
  const { folder, generation } = places;
  const at = (name: MapName) => mapPath(folder, name);
  const missing = "if !{ var(txn.backend) -m found }";
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
frontend routes
  bind ${anyAddress(places, places.httpPort)}
  bind ${anyAddress(places, places.httpsPort)} ssl crt-list ${certificateList(folder)} alpn h2,http/1.1
  http-request set-var(txn.host) req.hdr(host),field(1,:),lower
  http-request set-var(txn.path) path
  http-request set-var(txn.site) var(txn.host),map_str(${at("sites")})
  http-request set-var(txn.site) var(txn.host),regsub(^[^.]*,*),map_str(${at("sites")}) if !{ var(txn.site) -m found }
  http-request set-var(txn.site) str(*),map_str(${at("sites")}) if !{ var(txn.site) -m found }
  http-request set-var(txn.where) var(txn.site),concat(,txn.path)
  http-request set-var(txn.backend) var(txn.where),map_str(${at("exact")})
  http-request set-var(txn.backend) var(txn.where),map_reg(${at("patterns")}) ${missing}
  http-request set-var(txn.backend) var(txn.where),concat(/),map_beg(${at("prefixes")}) ${missing}
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Real-IP %[src]
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-Port %[dst_port]
  http-request set-header X-Forwarded-Proto https if { ssl_fc }
  http-request set-header X-Forwarded-Proto http if !{ ssl_fc }
  use_backend %[var(txn.backend)] if { var(txn.backend) -m found }
  default_backend nothing
backend nothing
  http-request return status 404 content-type text/plain string "default backend - 404\\n"
`;
};

function backendText(id: string, { options, servers }: ProxyBackend): string {
  const lines = [
    `backend ${id}`,
    "  balance roundrobin",
    ...ruleLines(options).map((line) => line.replace("http_auth(USERS)", `http_auth(${id})`)),
  ];
  for (const server of servers) lines.push(`  server ${serverName(server)} ${server}${serverOptions(options)}`);
  const users = options.users?.map(({ name, hash }) => `  user ${name} password ${quoted(hash)}`);
  return [...(users ? [`userlist ${id}`, ...users] : []), ...lines, ""].join("\n");
}

export const serverName = (server: string): string => `s_${server.replaceAll(/[[\]:]/g, "_")}`;

/** What stands behind the address of a server. */
export const serverOptions = ({ protocol }: RouteOptions): string =>
  ({ HTTP: "", HTTPS: " ssl verify none", GRPC: " proto h2", GRPCS: " ssl verify none alpn h2" })[protocol];

function ruleLines(options: RouteOptions): readonly string[] {
  const { allowed, denied, users, requestsPerSecond, bodyBytes, redirect, appRoot, cookie, host } = options;
  const rules: string[] = [];
  if (denied) rules.push(`http-request deny if { src ${denied.join(" ")} }`);
  if (allowed) rules.push(`http-request deny if !{ src ${allowed.join(" ")} }`);
  if (requestsPerSecond !== undefined)
    rules.push(
      "stick-table type ipv6 size 100k expire 10s store http_req_rate(1s)",
      "http-request track-sc0 src",
      // As much at once as nginx lets through in a burst.
      `http-request deny deny_status 503 if { sc_http_req_rate(0) gt ${requestsPerSecond * 5} }`,
    );
  if (options.sslRedirect) rules.push("http-request redirect scheme https code 308 if !{ ssl_fc }");
  if (users)
    rules.push(
      `http-request auth realm ${quoted(options.realm ?? "Authentication Required")} unless { http_auth(USERS) }`,
    );
  if (bodyBytes !== undefined) rules.push(`http-request deny deny_status 413 if { req.body_size gt ${bodyBytes} }`);
  if (redirect) rules.push(`http-request redirect location ${format(redirect.location)} code ${redirect.code}`);
  if (appRoot !== undefined) rules.push(`http-request redirect location ${format(appRoot)} code 302 if { path / }`);
  rules.push(...rewriteLines(options));
  if (host !== undefined) rules.push(`http-request set-header Host ${format(host)}`);
  if (cookie !== undefined)
    rules.push("dynamic-cookie-key ingress", `cookie ${cookie} insert indirect nocache httponly dynamic`);
  if (options.connectSeconds !== undefined) rules.push(`timeout connect ${options.connectSeconds}s`);
  if (options.readSeconds !== undefined) rules.push(`timeout server ${options.readSeconds}s`);
  return rules.map((rule) => `  ${rule}`);
}

function rewriteLines({ rewriteTarget, rewritePattern }: RouteOptions): readonly string[] {
  if (rewriteTarget === undefined) return [];
  if (rewritePattern === undefined) return [`http-request set-path ${format(rewriteTarget)}`];
  return [`http-request replace-path ${quoted(`^${rewritePattern}.*`)} ${format(rewriteTarget)}`];
}

/** Strong quotation: nothing in it has a meaning. */
const quoted = (text: string): string => `'${text}'`;

/** Where the proxy would look for expressions, which begin with a percent sign. */
const format = (text: string): string => quoted(text.replaceAll("%", "%%"));
