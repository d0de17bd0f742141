// Upstream: kubectl/pkg/cmd/proxy/proxy.go.
import { rmSync, statSync } from "node:fs";
import type { Server } from "node:http";
import { resolve } from "node:path";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import type { ParsedFlags } from "../../flags.ts";
import { klogLine } from "../../klog.ts";
import type { Session } from "../../session.ts";
import { requestFilter } from "./filter.ts";
import { gateway } from "./gateway.ts";

const usualPort = 8001;

const proxyFlags = {
  "accept-hosts": {
    type: "string",
    default: "^localhost$,^127\\.0\\.0\\.1$,^\\[::1\\]$",
    help: "Hosts that may be asked for, as regular expressions.",
  },
  "accept-paths": { type: "string", default: "^.*", help: "Paths that are passed on, as regular expressions." },
  address: { type: "string", default: "127.0.0.1", help: "The address to listen on." },
  "api-prefix": { type: "string", default: "/", help: "Where the API begins." },
  "append-server-path": { type: "bool", help: "Put the path of the server's address before each request's." },
  "disable-filter": {
    type: "bool",
    help: "Pass everything on. Every page in a browser can then use the proxy: dangerous.",
  },
  keepalive: { type: "duration", help: "How long an idle connection is kept; 0 for as long as is usual." },
  port: { type: "int", short: "p", default: usualPort, help: "The port to listen on; 0 for any that is free." },
  "reject-methods": { type: "string", default: "^$", help: "Methods that are refused, as regular expressions." },
  "reject-paths": {
    type: "string",
    default: "^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach",
    help: "Paths that are refused even if --accept-paths has them.",
  },
  "unix-socket": { type: "string", short: "u", help: "Listen on this socket of the file system." },
  www: { type: "string", short: "w", help: "Serve the files of this folder, too." },
  "www-prefix": { type: "string", short: "P", default: "/static/", help: "Where the files begin." },
} as const;

export const proxy = command({
  use: "proxy [--port=PORT] [--www=static-dir] [--www-prefix=prefix] [--api-prefix=prefix]",
  long: "Serve the API of the server on this machine, with the credentials of the kubeconfig, and files of a folder beside it.",
  examples: `# The API on port 8001
kubectl proxy

# On any free port, which is printed
kubectl proxy --port=0

# A part of the API, and the files of a folder under /static/
kubectl proxy --www=./site --api-prefix=/api/

# On a socket that only you can open
kubectl proxy --unix-socket=/tmp/api.sock`,
  flags: proxyFlags,
  async run(session, _args, flags) {
    const { io } = session;
    const warn = (text: string) => io.stderr.write(klogLine(io.clock, "W", "proxy.go:175", text));
    const filter = filterOf(session, flags, warn);
    if (flags.port !== usualPort && flags["unix-socket"] !== "")
      throw new KubectlError("cannot set --unix-socket and --port at the same time");
    const { pathname } = new URL((await session.config()).server);
    if (!flags["append-server-path"] && pathname !== "/")
      warn(
        `Your kube context contains a server path ${pathname}, use --append-server-path to automatically append the path to each request`,
      );
    const folder = resolve(io.cwd, flags.www);
    if (flags.www !== "") checkFolder(flags.www, folder, warn);
    const server = gateway({
      client: await session.client(),
      filter,
      apiPrefix: withSlash(flags["api-prefix"]),
      files: flags.www === "" ? undefined : { folder, prefix: withSlash(flags["www-prefix"]) },
      isServerPathKept: flags["append-server-path"],
      signal: io.signal,
      failed: (error) =>
        io.stderr.write(
          klogLine(io.clock, "E", "proxy_server.go:147", `Error while proxying request: ${(error as Error).message}`),
        ),
    });
    if (flags.keepalive > 0n) server.keepAliveTimeout = Number(flags.keepalive) / 1e6;
    await serveUntilInterrupted(session, server, flags);
  },
});

const withSlash = (prefix: string): string => (prefix.endsWith("/") ? prefix : `${prefix}/`);

function filterOf(session: Session, flags: ParsedFlags<typeof proxyFlags>, warn: (text: string) => void) {
  if (!flags["disable-filter"])
    return requestFilter(flags, (text) => klogLine(session.io.clock, "F", "proxy_server.go:84", text));
  if (flags["unix-socket"] === "")
    warn("Request filter disabled, your proxy is vulnerable to XSRF attacks, please be cautious");
  return undefined;
}

function checkFolder(shown: string, folder: string, warn: (text: string) => void): void {
  try {
    if (!statSync(folder).isDirectory()) warn(`Static file directory ${shown} is not a directory`);
  } catch {
    warn(`Failed to stat static file directory ${shown}: stat ${shown}: no such file or directory`);
  }
}

async function serveUntilInterrupted(
  session: Session,
  server: Server,
  { address, port, "unix-socket": socket }: ParsedFlags<typeof proxyFlags>,
): Promise<void> {
  const { signal, cwd } = session.io;
  try {
    const place = socket === "" ? listenOn(server, address, port) : listenAt(server, resolve(cwd, socket), socket);
    session.print(`Starting to serve on ${await place}`);
    await new Promise<void>((_, fail) => {
      if (signal.aborted) fail(signal.reason);
      signal.addEventListener("abort", () => fail(signal.reason), { once: true });
      server.once("error", fail);
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function listenOn(server: Server, host: string, port: number): Promise<string> {
  return new Promise((done, fail) => {
    server.once("error", (cause: NodeJS.ErrnoException) =>
      fail(new KubectlError(`listen tcp ${host}:${port}: bind: ${bindReasons[cause.code ?? ""] ?? cause.message}`)),
    );
    server.listen(port, host, () => {
      const bound = server.address() as { readonly address: string; readonly port: number };
      done(bound.address.includes(":") ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`);
    });
  });
}

const bindReasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "address already in use",
  EACCES: "permission denied",
  EADDRNOTAVAIL: "cannot assign requested address",
};

/** Only its owner may open the socket; one that was left behind is replaced. */
function listenAt(server: Server, path: string, shown: string): Promise<string> {
  if (isSocket(path)) rmSync(path);
  const usual = process.umask(0o077);
  return new Promise<string>((done, fail) => {
    server.once("error", (cause: NodeJS.ErrnoException) =>
      fail(new KubectlError(`listen unix ${shown}: bind: ${bindReasons[cause.code ?? ""] ?? cause.message}`)),
    );
    server.listen(path, () => done(shown));
  }).finally(() => process.umask(usual));
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false; // nothing is there
  }
}
