// Connections to a server through a proxy: CONNECT of HTTP, and SOCKS5 (RFC 1928).
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { KubectlError } from "../errors.ts";

/** The proxy for a server, from the kubeconfig or from the environment; undefined if it is reached without one. */
export function proxyFor(
  server: URL,
  configured: unknown,
  env: Readonly<Record<string, string | undefined>>,
): URL | undefined {
  if (typeof configured === "string" && configured !== "") return new URL(configured);
  const named =
    server.protocol === "https:" ? (env.HTTPS_PROXY ?? env.https_proxy) : (env.HTTP_PROXY ?? env.http_proxy);
  if (!named || isExcluded(server, env.NO_PROXY ?? env.no_proxy ?? "")) return undefined;
  return new URL(/^[a-z0-9]+:\/\//.test(named) ? named : `http://${named}`);
}

function isExcluded({ hostname, port }: URL, list: string): boolean {
  if (hostname === "localhost" || hostname.startsWith("127.") || hostname === "[::1]") return true;
  return list.split(",").some((entry) => {
    const name = entry.trim().toLowerCase();
    if (name === "") return false;
    if (name === "*" || name === hostname || name === `${hostname}:${port}`) return true;
    return hostname.endsWith(name.startsWith(".") ? name : `.${name}`);
  });
}

/** A connection on which the next byte goes to the server. */
export async function tunnel(proxy: URL, host: string, port: number): Promise<Socket> {
  const at = { host: proxy.hostname.replace(/^\[|\]$/g, ""), port: Number(proxy.port || defaultPorts[proxy.protocol]) };
  if (!(proxy.protocol in defaultPorts))
    throw new KubectlError(`proxy ${proxy.href}: unsupported scheme ${proxy.protocol}`);
  const socket = proxy.protocol === "https:" ? connectTls({ ...at, servername: at.host }) : connect(at);
  try {
    await opened(socket, proxy.protocol === "https:" ? "secureConnect" : "connect");
    await (proxy.protocol.startsWith("socks5")
      ? socks(socket, proxy, host, port)
      : connectThrough(socket, proxy, host, port));
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}

const defaultPorts: Readonly<Record<string, number>> = {
  "http:": 80,
  "https:": 443,
  "socks5:": 1080,
  "socks5h:": 1080,
};

const opened = (socket: Socket, event: string): Promise<void> =>
  new Promise((done, fail) => {
    socket.once(event, () => done());
    socket.once("error", fail);
  });

async function connectThrough(socket: Socket, proxy: URL, host: string, port: number): Promise<void> {
  const target = `${host}:${port}`;
  const user =
    proxy.username === "" ? "" : `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const authorization = user === "" ? "" : `Proxy-Authorization: Basic ${Buffer.from(user).toString("base64")}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  const head = (
    await take(socket, (bytes) => {
      const end = bytes.indexOf("\r\n\r\n");
      return end < 0 ? undefined : end + 4;
    })
  ).toString("latin1");
  const [, code = "", text = ""] = /^HTTP\/1\.\d (\d+) ?([^\r]*)/.exec(head) ?? [];
  if (code !== "200") throw new KubectlError(`proxy ${proxy.host}: ${text || code || "no answer"}`);
}

async function socks(socket: Socket, proxy: URL, host: string, port: number): Promise<void> {
  const name = Buffer.from(decodeURIComponent(proxy.username));
  const password = Buffer.from(decodeURIComponent(proxy.password));
  const method = name.length > 0 ? 2 : 0;
  socket.write(Uint8Array.of(5, 1, method));
  const [, chosen] = await take(socket, () => 2);
  if (chosen !== method) throw new KubectlError(`proxy ${proxy.host}: no acceptable authentication method`);
  if (method === 2) {
    socket.write(Buffer.concat([Uint8Array.of(1, name.length), name, Uint8Array.of(password.length), password]));
    const [, refused] = await take(socket, () => 2);
    if (refused !== 0) throw new KubectlError(`proxy ${proxy.host}: username/password authentication failed`);
  }
  const target = Buffer.from(host);
  socket.write(Buffer.concat([Uint8Array.of(5, 1, 0, 3, target.length), target, Uint8Array.of(port >> 8, port & 255)]));
  const answer = await take(socket, (bytes) => {
    const address = bytes[3] === 1 ? 4 : bytes[3] === 4 ? 16 : bytes[3] === 3 ? (bytes[4] ?? 0) + 1 : 0;
    return bytes.length < 5 ? undefined : 6 + address;
  });
  if (answer[1] !== 0) throw new KubectlError(`proxy ${proxy.host}: connect refused with code ${answer[1]}`);
}

const answerLimit = 64 * 1024;

/** Reads until there are as many bytes as `wanted` says, and leaves the rest unread. */
function take(socket: Socket, wanted: (bytes: Buffer) => number | undefined): Promise<Buffer> {
  return new Promise((done, fail) => {
    let bytes = Buffer.alloc(0);
    const end = (settle: () => void) => {
      socket.off("data", more).off("error", fail).off("close", closed);
      socket.pause();
      settle();
    };
    const closed = () => end(() => fail(new Error("the proxy closed the connection")));
    const more = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const size = wanted(bytes);
      if (size !== undefined && bytes.length >= size)
        end(() => {
          if (bytes.length > size) socket.unshift(bytes.subarray(size));
          done(bytes.subarray(0, size));
        });
      else if (bytes.length > answerLimit) end(() => fail(new Error("the proxy's answer is too long")));
    };
    socket.on("data", more).once("error", fail).once("close", closed);
    socket.resume();
  });
}
