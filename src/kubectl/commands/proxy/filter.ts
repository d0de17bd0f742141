// Which requests a proxy passes on (upstream: kubectl/pkg/proxy/proxy_server.go). Without it every page in a browser could use the proxy.
import { RE2JS } from "re2js";
import { ExitError } from "../../errors.ts";

export interface FilterFlags {
  readonly "accept-paths": string;
  readonly "reject-paths": string;
  readonly "accept-hosts": string;
  readonly "reject-methods": string;
}

export type RequestFilter = (method: string, path: string, hostHeader: string) => boolean;

/** Throws ExitError for what is no regular expression. */
export function requestFilter(flags: FilterFlags, fatal: (text: string) => string): RequestFilter {
  const compile = (list: string): readonly RE2JS[] =>
    (list === "" ? [] : list.split(",")).map((text) => {
      try {
        return RE2JS.compile(text);
      } catch (cause) {
        throw new ExitError(255, fatal(`Error compiling re: ${cause instanceof Error ? cause.message : cause}`), {
          cause,
        });
      }
    });
  const [acceptPaths, rejectPaths] = [compile(flags["accept-paths"]), compile(flags["reject-paths"])];
  const [acceptHosts, rejectMethods] = [compile(flags["accept-hosts"]), compile(flags["reject-methods"])];
  const matches = (text: string, patterns: readonly RE2JS[]) => patterns.some((one) => one.matcher(text).find());
  return (method, path, hostHeader) =>
    !matches(path, rejectPaths) &&
    !matches(method, rejectMethods) &&
    matches(path, acceptPaths) &&
    matches(hostOf(hostHeader), acceptHosts);
}

/** Without the port. */
function hostOf(header: string): string {
  const bracketed = /^\[(.*)\]:\d*$/.exec(header);
  if (bracketed) return bracketed[1] ?? "";
  const parts = header.split(":");
  return parts.length === 2 ? (parts[0] ?? "") : header;
}
