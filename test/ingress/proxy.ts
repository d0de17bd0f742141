// A real HAProxy on the loopback, from Debian's package without installing it, and servers for it.
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import { fetchPackages } from "#cluster/images/fetch-packages.ts";
import { Haproxy } from "#ingress/host/haproxy-process.ts";

const { signal } = new AbortController();
const cache = fileURLToPath(new URL("../../node_modules/.cache/haproxy", import.meta.url));

/** The program, or why there is none. */
export async function findHaproxy(): Promise<{ readonly program?: string; readonly missing: string | false }> {
  if (existsSync("/usr/sbin/haproxy")) return { program: "/usr/sbin/haproxy", missing: false };
  try {
    await fetchPackages(["haproxy"], cache, signal);
  } catch (error) {
    return { missing: `haproxy is not installed, and could not be fetched: ${String(error)}` };
  }
  const script = `${cache}.sh`;
  const triplet = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  const libraries = join(cache, "usr/lib", triplet);
  writeFileSync(script, `#!/bin/sh\nLD_LIBRARY_PATH=${libraries} exec ${cache}/usr/sbin/haproxy "$@"\n`, {
    mode: 0o755,
  });
  return { program: script, missing: false };
}

export async function freePort(): Promise<number> {
  const server = createSocketServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export class ProxyUnderTest implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-haproxy-"));
  readonly haproxy: Haproxy;
  readonly httpPort: number;
  readonly httpsPort: number;

  private constructor(program: string, [httpPort, httpsPort, metricsPort]: readonly [number, number, number]) {
    this.httpPort = httpPort;
    this.httpsPort = httpsPort;
    const { folder } = this;
    const places = { folder, ingress: { httpPort, httpsPort }, metricsPort, hasIpv6: false };
    this.haproxy = new Haproxy({
      ...places,
      program,
      defaultPem: pemFor("default.test"),
      clock: systemClock,
      log: silentLog,
    });
  }

  static async make(program: string): Promise<ProxyUnderTest> {
    return new ProxyUnderTest(program, [await freePort(), await freePort(), await freePort()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.haproxy.pid !== undefined) await this.haproxy.end(1000);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Key and certificate for a name, in one text. */
export function pemFor(host: string): string {
  const validity = { notBefore: new Date("2020-01-01"), notAfter: new Date("2040-01-01") };
  const { cert, key } = makeCertificate(makeAuthority(validity), { commonName: host, hosts: [host] }, validity);
  return `${key}${cert}`;
}

/** Says its name, what it was asked for, and what the proxy told it. */
export async function backendServer(
  name: string,
): Promise<{ readonly address: string; readonly server: Server } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const { host, "x-forwarded-for": from, "x-forwarded-proto": protocol } = request.headers;
    response.end(JSON.stringify({ name, path: request.url, host, from, protocol }));
  });
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.on("upgrade", ({ headers }, socket) => {
    const accept = createHash("sha1")
      .update(`${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n");
    socket.write(`Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on("data", (bytes: Buffer) => socket.write(bytes));
    socket.on("error", () => undefined); // the test has ended
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    server,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy(); // also those that are HTTP no more
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
