// The ports of gateways. A request finds its listener by its host, among the sites of that listener the most specific ones that its host
// matches, and in these its route. A site whose routes ask for nothing but paths is looked up in maps; the routes of others are tried
// in turn. Where no route of a site matches, the next site counts.
//
//   HTTP, HTTPS           one frontend
//   TLS, with or without  a frontend that reads the name the client asks for, and hands the connection to the servers of a TLSRoute
//   HTTPS                 (passthrough) or to a socket of a frontend that terminates TLS
import type { ConditionalRoute, HostTier, ProxyFrontend, RouteMatch, ValueMatch } from "../proxy-state.ts";
import { anyAddress, certificateList, type HaproxyPlaces, mapPath } from "./places.ts";
import { quoted } from "./quoting.ts";

const tiers: readonly HostTier[] = ["exact", "wildcard", "any"];

export function frontendText(frontend: ProxyFrontend, places: HaproxyPlaces): string {
  const { id, port, hasHttps, hasTermination, hasPassthrough } = frontend;
  const own = anyAddress(places, port);
  const tls = tlsOptions(frontend, places);
  if (!hasHttps && !hasTermination && !hasPassthrough) return httpFrontend(id, own, frontend, places);
  if (!hasTermination && !hasPassthrough) return httpFrontend(id, `${own} ${tls} alpn h2,http/1.1`, frontend, places);
  const socket = (name: string) => `unix@${places.folder}/${id}-${name}.sock`;
  const parts = [nameFrontend(frontend, own, places)];
  if (hasHttps)
    parts.push(
      handOver(`${id}-https`, socket("https")),
      httpFrontend(`${id}-https`, `${socket("https")} accept-proxy ${tls} alpn h2,http/1.1`, frontend, places),
    );
  if (hasTermination)
    parts.push(
      handOver(`${id}-terminate`, socket("terminate")),
      terminatingFrontend(frontend, `${socket("terminate")} accept-proxy ${tls}`, places),
    );
  return parts.join("\n");
}

const tlsOptions = ({ id, isStrict }: ProxyFrontend, { folder }: HaproxyPlaces): string =>
  `ssl crt-list ${certificateList(folder, id)}${isStrict ? " strict-sni" : ""}`;

/** The listener of a name at a frontend. */
function listenerLines(id: string, rule: string, variable: string, name: string, folder: string): readonly string[] {
  const [hosts, wildcards] = [mapPath(folder, "hosts"), mapPath(folder, "wildcards")];
  const missing = `if !{ var(${variable}) -m found }`;
  return [
    `${rule} set-var(${variable}) ${name},concat(@${id}),map_str(${hosts})`,
    `${rule} set-var(${variable}) ${name},concat(@${id}),map_end(${wildcards}) ${missing}`,
    `${rule} set-var(${variable}) str(@${id}),map_str(${hosts}) ${missing}`,
  ];
}

function httpFrontend(name: string, bind: string, frontend: ProxyFrontend, places: HaproxyPlaces): string {
  const { id, publicPort, hasHttps, conditional } = frontend;
  const { folder } = places;
  const isDefaultPort = publicPort === (hasHttps ? 443 : 80);
  const [hosts, wildcards] = [mapPath(folder, "hosts"), mapPath(folder, "wildcards")];
  const lines = [
    "http-request set-var(txn.host) req.hdr(host),field(1,:),lower",
    `http-request set-var(txn.scheme) str(${hasHttps ? "https" : "http"})`,
    `http-request set-var(txn.port_suffix) str(${isDefaultPort ? "" : `:${publicPort}`})`,
    "http-request set-var(txn.path) path",
    "http-request set-var(txn.slashed) path,concat(/)",
    ...listenerLines(id, "http-request", "txn.listener", "var(txn.host)", folder),
    ...(hasHttps ? misdirectedLines(id, folder) : []),
    "http-request set-var(txn.at) str(@),concat(,txn.listener)",
    `http-request set-var(txn.exact_site) var(txn.host),concat(,txn.at),map_str(${hosts})`,
    `http-request set-var(txn.wildcard_site) var(txn.host),concat(,txn.at),map_end(${wildcards})`,
    `http-request set-var(txn.any_site) var(txn.at),map_str(${hosts})`,
    ...tiers.flatMap((tier) => tierLines(tier, conditional, folder)),
    ...forwardedLines(String(publicPort)),
    "use_backend %[var(txn.backend)] if { var(txn.backend) -m found }",
    "default_backend not-found",
  ];
  return [`frontend ${name}`, `  bind ${bind}`, ...lines.map((line) => `  ${line}`), ""].join("\n");
}

/** What servers are told of the client. */
export const forwardedLines = (port: string): readonly string[] => [
  "http-request set-header X-Forwarded-For %[src]",
  "http-request set-header X-Real-IP %[src]",
  "http-request set-header X-Forwarded-Host %[req.hdr(host)]",
  `http-request set-header X-Forwarded-Port ${port}`,
  "http-request set-header X-Forwarded-Proto https if { ssl_fc }",
  "http-request set-header X-Forwarded-Proto http if !{ ssl_fc }",
];

/** Clients may send requests for other hosts over a connection, but not for those of another listener. */
const misdirectedLines = (id: string, folder: string): readonly string[] => [
  ...listenerLines(id, "http-request", "txn.connected", "ssl_fc_sni,lower", folder),
  "http-request return status 421 if { ssl_fc_has_sni } { var(txn.connected) -m found } !{ var(txn.connected),strcmp(txn.listener) eq 0 }",
];

const missing = "!{ var(txn.backend) -m found }";

function tierLines(tier: HostTier, conditional: readonly ConditionalRoute[], folder: string): readonly string[] {
  const site = `var(txn.${tier}_site)`;
  const unless = `if ${missing} { ${site} -m found }`;
  const where = `${site},concat(,txn.path)`;
  const lookUp = (expression: string) => `http-request set-var(txn.backend) ${expression} ${unless}`;
  return [
    lookUp(`${where},map_str(${mapPath(folder, "exact")})`),
    lookUp(`${where},map_reg(${mapPath(folder, "patterns")})`),
    lookUp(`${site},concat(,txn.slashed),map_beg(${mapPath(folder, "prefixes")})`),
    ...conditional
      .filter((route) => route.tier === tier)
      .map(
        (route) =>
          `http-request set-var(txn.backend) str(${route.backend}) if ${missing} { ${site} -m str ${route.site} } ${conditions(route.match)}`,
      ),
  ];
}

function conditions({ path, method, headers, query }: RouteMatch): string {
  const value = {
    Exact: () => `{ path -m str -- ${quoted(path.value)} }`,
    Prefix: () => `{ var(txn.slashed) -m beg -- ${quoted(`${path.value.replace(/\/+$/, "")}/`)} }`,
    Pattern: () => `{ path -m reg -- ${quoted(`^(?:${path.value})$`)} }`,
  };
  return [
    value[path.type](),
    ...(method === undefined ? [] : [`{ method ${method} }`]),
    ...headers.map((header) => valueCondition(`req.fhdr(${header.name})`, header)),
    ...query.map((parameter) => valueCondition(`url_param(${parameter.name}),url_dec(1)`, parameter)),
  ].join(" ");
}

const valueCondition = (sample: string, { value, isPattern }: ValueMatch): string =>
  isPattern
    ? `{ ${quoted(sample)} -m reg -- ${quoted(`^(?:${value})$`)} }`
    : `{ ${quoted(sample)} -m str -- ${quoted(value)} }`;

/** Reads the name that a client asks for, before TLS begins. */
function nameFrontend(
  { id, hasHttps, hasTermination }: ProxyFrontend,
  bind: string,
  { folder }: HaproxyPlaces,
): string {
  const lines = [
    "mode tcp",
    `bind ${bind}`,
    "tcp-request inspect-delay 5s",
    "tcp-request content reject if !{ req.ssl_hello_type 1 } WAIT_END",
    ...listenerLines(id, "tcp-request content", "sess.listener", "req.ssl_sni,lower", folder),
    ...siteLines("req.ssl_sni,lower", folder),
    "tcp-request content accept if { req.ssl_hello_type 1 }",
    ...(hasHttps ? [`use_backend ${id}-https if { var(sess.listener) -m beg https- }`] : []),
    ...(hasTermination ? [`use_backend ${id}-terminate if { var(sess.listener) -m beg terminate- }`] : []),
    "use_backend %[var(sess.backend)] if { var(sess.backend) -m found }",
  ];
  return [`frontend ${id}`, ...lines.map((line) => `  ${line}`), ""].join("\n");
}

/** The servers of a TLSRoute: the only route of a site. */
function siteLines(name: string, folder: string): readonly string[] {
  const [hosts, wildcards, exact] = (["hosts", "wildcards", "exact"] as const).map((map) => mapPath(folder, map));
  const unless = "if !{ var(sess.site) -m found }";
  return [
    "tcp-request content set-var(sess.at) str(@),concat(,sess.listener)",
    `tcp-request content set-var(sess.site) ${name},concat(,sess.at),map_str(${hosts})`,
    `tcp-request content set-var(sess.site) ${name},concat(,sess.at),map_end(${wildcards}) ${unless}`,
    `tcp-request content set-var(sess.site) var(sess.at),map_str(${hosts}) ${unless}`,
    `tcp-request content set-var(sess.backend) var(sess.site),map_str(${exact})`,
  ];
}

const handOver = (name: string, socket: string): string =>
  [`backend ${name}`, "  mode tcp", `  server own ${socket} send-proxy-v2`, ""].join("\n");

function terminatingFrontend({ id }: ProxyFrontend, bind: string, { folder }: HaproxyPlaces): string {
  const lines = [
    "mode tcp",
    `bind ${bind}`,
    ...listenerLines(id, "tcp-request content", "sess.listener", "ssl_fc_sni,lower", folder),
    ...siteLines("ssl_fc_sni,lower", folder),
    "use_backend %[var(sess.backend)] if { var(sess.backend) -m found }",
  ];
  return [`frontend ${id}-terminate`, ...lines.map((line) => `  ${line}`), ""].join("\n");
}
