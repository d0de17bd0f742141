// The options of a route as rules of its backend.
import type { HeaderChanges, PathChange, RedirectLocation, RouteOptions } from "../route-options.ts";
import { escapedPattern, quoted, quotedFormat } from "./quoting.ts";

/** In the order in which they apply. The list of its users has the name of the backend. */
export function ruleLines(options: RouteOptions, backend: string): readonly string[] {
  const { appRoot, cookie, host, path, location, answer, protocol, connectSeconds, readMs } = options;
  const rules = [...accessLines(options, backend)];
  if (protocol === "TCP") rules.push("mode tcp");
  if (answer !== undefined) rules.push(`http-request return status ${answer}`);
  if (options.redirect)
    rules.push(
      `http-request redirect location ${quotedFormat(options.redirect.location)} code ${options.redirect.code}`,
    );
  if (appRoot !== undefined)
    rules.push(`http-request redirect location ${quotedFormat(appRoot)} code 302 if { path / }`);
  rules.push(...headerLines("http-request", options.requestHeaders));
  rules.push(...rewriteLines(options));
  if (path) rules.push(pathLine(path));
  if (location) rules.push(...locationLines(location));
  if (host !== undefined) rules.push(`http-request set-header Host ${quotedFormat(host)}`);
  rules.push(...headerLines("http-response", options.responseHeaders));
  if (cookie !== undefined)
    rules.push("dynamic-cookie-key ingress", `cookie ${cookie} insert indirect nocache httponly dynamic`);
  if (connectSeconds !== undefined) rules.push(`timeout connect ${connectSeconds}s`);
  if (readMs !== undefined) rules.push(`timeout server ${readMs}ms`);
  return rules.map((rule) => `  ${rule}`);
}

/** Who may ask, how much, and by which scheme. */
function accessLines(options: RouteOptions, backend: string): readonly string[] {
  const { allowed, denied, users, requestsPerSecond, bodyBytes, realm = "Authentication Required" } = options;
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
  if (users) rules.push(`http-request auth realm ${quoted(realm)} unless { http_auth(${backend}) }`);
  if (bodyBytes !== undefined) rules.push(`http-request deny deny_status 413 if { req.body_size gt ${bodyBytes} }`);
  return rules;
}

function rewriteLines({ rewriteTarget, rewritePattern }: RouteOptions): readonly string[] {
  if (rewriteTarget === undefined) return [];
  if (rewritePattern === undefined) return [`http-request set-path ${quotedFormat(rewriteTarget)}`];
  return [`http-request replace-path ${quoted(`^${rewritePattern}.*`)} ${quotedFormat(rewriteTarget)}`];
}

const headerLines = (when: "http-request" | "http-response", changes: HeaderChanges | undefined): readonly string[] => [
  ...(changes?.set ?? []).map(({ name, value }) => `${when} set-header ${quoted(name)} ${quotedFormat(value)}`),
  ...(changes?.add ?? []).map(({ name, value }) => `${when} add-header ${quoted(name)} ${quotedFormat(value)}`),
  ...(changes?.remove ?? []).map((name) => `${when} del-header ${quoted(name)}`),
];

/** A prefix is whole parts of a path: behind it there is a slash, or nothing. */
function pathLine(change: PathChange): string {
  if ("full" in change) return `http-request set-path ${quotedFormat(change.full || "/")}`;
  const [prefix, replacement] = [change.prefix, change.replacement].map((path) => path.replace(/\/+$/, "")) as [
    string,
    string,
  ];
  const [pattern, target] =
    replacement === "" ? [`^${escapedPattern(prefix)}/*(.*)$`, "/"] : [`^${escapedPattern(prefix)}(.*)$`, replacement];
  // A backslash would be read as a reference to a group.
  return `http-request replace-path ${quoted(pattern)} ${quotedFormat(`${target.replaceAll("\\", "\\\\")}\\1`)}`;
}

/** The scheme and the port of the listener, where no others are said, are known by the frontend. */
function locationLines({ scheme, hostname, port, code }: RedirectLocation): readonly string[] {
  const host = hostname ?? "%[var(txn.host)]";
  const suffix = (of: "http" | "https") => (port === (of === "http" ? 80 : 443) ? "" : `:${port}`);
  const to = (start: string) => `http-request redirect location ${start}%[pathq] code ${code}`;
  if (scheme !== undefined) return [to(`${scheme}://${host}${port === undefined ? "" : suffix(scheme)}`)];
  if (port === undefined) return [to(`%[var(txn.scheme)]://${host}%[var(txn.port_suffix)]`)];
  return [
    `${to(`https://${host}${suffix("https")}`)} if { ssl_fc }`,
    `${to(`http://${host}${suffix("http")}`)} if !{ ssl_fc }`,
  ];
}
