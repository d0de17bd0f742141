// The least a server in this language can do for the same bytes: no API, no routing, no checks. Started as a process of its own.
// Usage: floor.ts FOLDER CERT KEY OBJECT_BYTES LIST_BYTES
import { readFileSync } from "node:fs";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { open } from "lmdb";

const [folder = "", cert = "", key = "", objectBytes = "", listBytes = ""] = process.argv.slice(2);
const object = Buffer.alloc(Number(objectBytes), "x");
const list = Buffer.alloc(Number(listBytes), "x");
const db = open<Buffer, string>({ path: join(folder, "floor.lmdb"), noSubdir: true, encoding: "binary" });
const watchers = new Set<ServerHttp2Stream>();
let writes = 0;

const json = { ":status": 200, "content-type": "application/json" } as const;
const server = createSecureServer({
  cert: readFileSync(cert),
  key: readFileSync(key),
  settings: { maxConcurrentStreams: 1000, initialWindowSize: 256 * 1024 },
});
server.on("stream", (stream: ServerHttp2Stream, headers) => {
  stream.on("error", () => undefined);
  if (headers[":method"] === "POST") return void write(stream, headers[":path"] !== "/api/v1/namespaces/quiet/pods");
  stream.respond(json);
  const path = headers[":path"];
  if (path === "/list") stream.end(list);
  else if (path === "/watch") {
    watchers.add(stream);
    stream.on("close", () => watchers.delete(stream));
  } else stream.end(object);
});

async function write(stream: ServerHttp2Stream, isWatched: boolean): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const text = JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()));
  const stored = Buffer.alloc(object.length, text);
  void db.put(`/registry/pods/${writes++}`, stored);
  await db.flushed;
  stream.respond(json);
  stream.end(stored);
  if (isWatched) for (const watcher of watchers) watcher.write(stored);
}

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
