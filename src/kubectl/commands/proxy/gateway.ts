// Requests of this machine passed on to the server, upgraded connections too.
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { posix } from "node:path";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RestClient } from "../../rest/client.ts";
import type { UpgradedConnection } from "../../rest/transport.ts";
import type { RequestFilter } from "./filter.ts";
import { refuse, serveFile } from "./static-files.ts";

export interface GatewayOptions {
  readonly client: Pick<RestClient, "pass">;
  /** Undefined lets everything through. */
  readonly filter: RequestFilter | undefined;
  /** Ends with a slash. */
  readonly apiPrefix: string;
  readonly files: { readonly folder: string; readonly prefix: string } | undefined;
  readonly isServerPathKept: boolean;
  readonly signal: AbortSignal;
  readonly failed: (error: unknown) => void;
}

type Headers = Record<string, string | string[] | undefined>;

/** What concerns one connection alone, and is not passed on. */
const hopHeaders = ["connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer"];

export function gateway(options: GatewayOptions): Server {
  const server = createServer((request, answer) => void serve(options, request, answer));
  server.on("upgrade", (request, socket, head) => void serveUpgrade(options, request, socket, head));
  return server;
}

type Routed =
  | { readonly type: "api"; readonly path: string }
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "refusal"; readonly code: number; readonly text: string; readonly location?: string };

/** Where a request goes. The path is judged as the server will understand it. */
export function route(options: GatewayOptions, method: string, url: string, host: string): Routed {
  const at = url.indexOf("?");
  const [raw, query] = at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at)];
  const path = decoded(raw);
  if (path === undefined || !raw.startsWith("/")) return { type: "refusal", code: 400, text: "400 Bad Request" };
  const clean = posix.normalize(path);
  if (clean !== path)
    return {
      type: "refusal",
      code: 307,
      text: "",
      location: `${clean.split("/").map(encodeURIComponent).join("/")}${query}`,
    };
  const { files, apiPrefix, filter } = options;
  if (files && path.startsWith(files.prefix)) return { type: "file", path: path.slice(files.prefix.length - 1) };
  const isKept = apiPrefix.startsWith("/api");
  if (!path.startsWith(apiPrefix)) return { type: "refusal", code: 404, text: "404 page not found" };
  // The prefix ends with a slash, which stays.
  const strip = (text: string) => (isKept ? text : text.slice(apiPrefix.length - 1));
  if (filter && !filter(method, strip(path), host)) return { type: "refusal", code: 403, text: "Forbidden" };
  return { type: "api", path: `${strip(raw)}${query}` };
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined; // half of a character is no path
  }
}

async function serve(options: GatewayOptions, request: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { method = "GET", url = "/", headers } = request;
  const routed = route(options, method, url, headers.host ?? "");
  if (routed.type === "refusal") {
    if (routed.location !== undefined) answer.setHeader("location", routed.location);
    return refuse(answer, routed.code, routed.text);
  }
  if (routed.type === "file") return serveFile(options.files?.folder ?? "", routed.path, answer);
  const gone = new AbortController();
  answer.once("close", () => gone.abort(new Error("the client has left")));
  try {
    const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
    const got = await options.client.pass(
      {
        method,
        path: routed.path,
        headers: passedHeaders(request),
        ...(hasBody && { body: request }),
        isBaseKept: options.isServerPathKept,
      },
      AbortSignal.any([options.signal, gone.signal]),
    );
    if ("socket" in got && "head" in got) throw new Error("the server switched protocols without being asked to");
    answer.writeHead(got.statusCode ?? 502, without(got.headers as Headers, [...hopHeaders, "transfer-encoding"]));
    answer.flushHeaders();
    await pipeline(got as IncomingMessage, answer);
  } catch (error) {
    if (gone.signal.aborted || options.signal.aborted) return void answer.destroy();
    options.failed(error);
    if (answer.headersSent) answer.destroy();
    else refuse(answer, 500, error instanceof Error ? error.message : String(error));
  }
}

function passedHeaders(request: IncomingMessage): Headers {
  const { "x-forwarded-for": before } = request.headers;
  const client = request.socket.remoteAddress;
  const via = [before, client].filter((one) => one !== undefined && one !== "").join(", ");
  return { ...without(request.headers, [...hopHeaders, "upgrade"]), ...(via !== "" && { "x-forwarded-for": via }) };
}

const without = (headers: Headers, names: readonly string[]): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));

async function serveUpgrade(
  options: GatewayOptions,
  request: IncomingMessage,
  socket: Duplex,
  head: Uint8Array,
): Promise<void> {
  const { method = "GET", url = "/", headers } = request;
  socket.on("error", () => socket.destroy());
  const routed = route(options, method, url, headers.host ?? "");
  if (routed.type !== "api") return end(socket, routed.type === "refusal" ? routed.code : 400, "");
  try {
    const { upgrade, connection } = headers;
    const got = await options.client.pass(
      {
        method,
        path: routed.path,
        headers: { ...passedHeaders(request), upgrade, connection },
        isBaseKept: options.isServerPathKept,
      },
      options.signal,
    );
    if (!isUpgraded(got)) return await refusedBy(got, socket);
    socket.write(`${statusLine(101)}${headerLines(got.headers as Headers)}\r\n`);
    if (head.length > 0) got.socket.write(head);
    if (got.head.length > 0) socket.write(got.head);
    await Promise.all([pipeline(socket, got.socket), pipeline(got.socket, socket)]);
  } catch (error) {
    if (!socket.destroyed && socket.writable) end(socket, 500, error instanceof Error ? error.message : String(error));
    socket.destroy();
  }
}

const isUpgraded = (got: IncomingMessage | UpgradedConnection): got is UpgradedConnection => "head" in got;

async function refusedBy(got: IncomingMessage, socket: Duplex): Promise<void> {
  const headers = without(got.headers as Headers, [...hopHeaders, "transfer-encoding"]);
  socket.write(`${statusLine(got.statusCode ?? 502)}${headerLines({ ...headers, connection: "close" })}\r\n`);
  await pipeline(got, socket);
}

function end(socket: Duplex, code: number, text: string): void {
  socket.end(`${statusLine(code)}connection: close\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

const statusLine = (code: number): string => `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\n`;
const headerLines = (headers: Headers): string =>
  Object.entries(headers)
    .flatMap(([name, value]) => [value ?? []].flat().map((one) => `${name}: ${one}\r\n`))
    .join("");
