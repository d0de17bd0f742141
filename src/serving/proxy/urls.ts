// Where the URLs of a proxied server lead for the client. Follows upstream's apimachinery/pkg/util/proxy/transport.go.

export interface ProxyAddress {
  /** The path of the proxy itself, without what was asked of the server behind it. */
  readonly prefix: string;
  /** What the server calls itself, and what the client calls us: URLs of other hosts are not ours to change. */
  readonly backendHost: string;
  readonly requestHost: string;
}

/** The URL by which the client gets to the same place through the proxy. */
export function throughProxy(url: string, { prefix, backendHost, requestHost }: ProxyAddress): string {
  const match = /^((?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#]*))(.*)$/is.exec(url);
  const [, origin = "", host = "", rest = ""] = match ?? ["", "", "", url];
  if (host !== "" && host !== backendHost && host !== requestHost) return url;
  if (!rest.startsWith("/")) return url;
  const end = rest.search(/[?#]/);
  const [path, search] = end < 0 ? [rest, ""] : [rest.slice(0, end), rest.slice(end)];
  const base = host !== "" && host === requestHost ? origin : "";
  return `${base}${path.startsWith(prefix) ? path : prefix + cleanPath(path)}${search}`;
}

/** A path without empty parts and steps upwards, which could leave what was asked for. Escapes stay. */
export function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    const plain = part.replaceAll(/%2e/gi, ".");
    if (plain === "..") parts.pop();
    else if (plain !== "" && plain !== ".") parts.push(part);
  }
  if (parts.length === 0) return path === "" ? "" : "/";
  return `/${parts.join("/")}${path.endsWith("/") ? "/" : ""}`;
}
