// Watches and logs over WebSockets, by the client of the `ws` package and by one that writes its own frames.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ClientOptions, WebSocket } from "ws";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { type NodeConnection, noConnection } from "#apiserver/node-connection.ts";
import { type TestServer, testServer, testUser } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Certificates } from "#cluster/certificates.ts";
import { decodeMessage } from "#schema/protobuf/codec.ts";
import { open } from "#schema/protobuf/envelope.ts";
import { decodeWatchEvent } from "#schema/protobuf/watch-event.ts";
import { httpsFront } from "#serving/host/https/front.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

interface World {
  readonly server: TestServer;
  readonly port: number;
  connect(path: string, protocols?: readonly string[], options?: ClientOptions): Client;
  make(name: string, data?: Readonly<Record<string, string>>): Promise<void>;
  /** Resolves when no watch and no connection is open any longer. */
  idle(): Promise<void>;
}

async function world(t: TestContext, nodes: NodeConnection = noConnection): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "watch-socket-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const serving = new Certificates(folder, systemClock).issue("serving", { commonName: "server" });
  const server = await testServer({ nodes, users: { secret: { ...testUser, name: "browser" } } });
  const front = httpsFront({ ...serving, clientCa: undefined, handler: server.server.handle, log: silentLog });
  const port = await front.listenUnsecured(0, "127.0.0.1");
  t.after(async () => {
    await front.close(0);
    await server[Symbol.asyncDispose]();
  });
  return {
    server,
    port,
    connect(path, protocols = [], options = {}) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, [...protocols], options);
      t.after(() => socket.terminate());
      return new Client(socket);
    },
    async make(name, data = {}) {
      const { code, text } = await server.call("POST", configMaps, { metadata: { name }, data });
      assert.equal(code, 201, text);
    },
    async idle() {
      for (;;) {
        const { text } = await server.call("GET", "/metrics");
        if (!/^apiserver_longrunning_requests{.*} [1-9]/m.test(text)) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

interface Message {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** Messages in the order in which they come. */
class Client {
  readonly socket: WebSocket;
  readonly #messages: Message[] = [];
  #wake: () => void = () => undefined;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data: Buffer, isBinary) => {
      this.#messages.push({ data, isBinary });
      this.#wake();
    });
    socket.on("error", () => undefined); // the tests look at the answer, or at the close
  }

  async next(): Promise<Message> {
    for (;;) {
      const message = this.#messages.shift();
      if (message) return message;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** An event as JSON, which comes as text, a line each. */
  async event() {
    const { data, isBinary } = await this.next();
    assert.equal(isBinary, false);
    const text = data.toString();
    assert.equal(text.indexOf("\n"), text.length - 1, "one line for each message");
    return JSON.parse(text);
  }

  async closeCode(): Promise<number> {
    const [code] = await once(this.socket, "close");
    return code;
  }

  /** What was answered instead of a WebSocket. */
  refusal(): Promise<{ readonly code: number | undefined; readonly body: string }> {
    return new Promise((resolve, reject) => {
      this.socket.on("open", () => reject(new Error("it was opened")));
      this.socket.on("unexpected-response", async (_request, response) => {
        const parts: Buffer[] = [];
        for await (const part of response) parts.push(part);
        resolve({ code: response.statusCode, body: Buffer.concat(parts).toString() });
      });
    });
  }
}

const summary = ({
  type,
  object,
}: {
  readonly type: string;
  readonly object: { readonly metadata: { name: string } };
}) => `${type} ${object.metadata.name}`;

test("a watch over WebSocket sends each event as a message of text", async (t) => {
  const { connect, make, server } = await world(t);
  await make("before");
  const client = connect(`${configMaps}?watch=true`);
  assert.equal(summary(await client.event()), "ADDED before");
  const names = Array.from({ length: 50 }, (_, i) => `many-${i}`);
  await Promise.all(names.map((name) => make(name)));
  const seen: string[] = [];
  for (const _ of names) seen.push(summary(await client.event()));
  assert.deepEqual(seen.toSorted(), names.map((name) => `ADDED ${name}`).toSorted());
  await server.call("PUT", `${configMaps}/before`, { metadata: { name: "before" }, data: { a: "b" } });
  assert.deepEqual((await client.event()).object.data, { a: "b" });
  await server.call("DELETE", `${configMaps}/before`);
  assert.equal(summary(await client.event()), "DELETED before");
});

test("a watch over WebSocket sends protobuf as messages of bytes, without a length before them", async (t) => {
  const { connect, make } = await world(t);
  const headers = { accept: "application/vnd.kubernetes.protobuf;stream=watch" };
  const client = connect(`${configMaps}?watch=1`, [], { headers });
  await make("a", { x: "y" });
  const { data, isBinary } = await client.next();
  assert.equal(isBinary, true);
  const { type, object } = decodeWatchEvent(data);
  assert.equal(type, "ADDED");
  const { kind, message } = open(object);
  const { data: decoded } = decodeMessage(ConfigMap.struct, message) as unknown as ConfigMap;
  assert.deepEqual([kind, decoded], ["ConfigMap", { x: "y" }]);
});

test("a watch over WebSocket knows tables, metadata alone, bookmarks and initial events", async (t) => {
  const { connect, make } = await world(t);
  await make("a");
  const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
  const { object } = await connect(`${configMaps}?watch=true`, [], { headers: table }).event();
  assert.deepEqual([object.kind, object.rows[0].cells[0]], ["Table", "a"]);
  const metadata = { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" };
  const partial = await connect(`${configMaps}?watch=true`, [], { headers: metadata }).event();
  assert.deepEqual([partial.object.kind, partial.object.data], ["PartialObjectMetadata", undefined]);
  const initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const list = connect(`${configMaps}?watch=true&${initial}`);
  assert.equal(summary(await list.event()), "ADDED a");
  const bookmark = await list.event();
  assert.equal(bookmark.type, "BOOKMARK");
  assert.equal(bookmark.object.metadata.annotations["k8s.io/initial-events-end"], "true");
});

test("a watch over WebSocket confirms one subprotocol and refuses several", async (t) => {
  const { connect, make } = await world(t);
  await make("a");
  for (const protocol of ["v4.channel.k8s.io", "base64.binary.k8s.io"]) {
    const { socket } = connect(`${configMaps}?watch=true`, [protocol]);
    await once(socket, "open");
    assert.equal(socket.protocol, protocol);
  }
  assert.equal((await connect(`${configMaps}?watch=true`, ["a", "b"]).refusal()).code, 400);
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from("secret").toString("base64url")}`;
  const { socket } = connect(`${configMaps}?watch=true`, [token, "binary.k8s.io"]);
  await once(socket, "open");
  assert.equal(socket.protocol, "binary.k8s.io");
});

test("a watch that is refused is answered like any other request", async (t) => {
  const { connect, port, idle } = await world(t);
  const old = await connect(`${configMaps}?watch=true&fieldSelector=spec.none=1`).refusal();
  assert.deepEqual([old.code, JSON.parse(old.body).kind], [400, "Status"]);
  const unknown = await connect("/api/v1/namespaces/default/nothings?watch=true").refusal();
  assert.equal(unknown.code, 404);
  const list = await connect(configMaps).refusal();
  assert.deepEqual([list.code, JSON.parse(list.body).kind], [200, "ConfigMapList"]);
  const { socket, answer } = await ask(port, `${configMaps}?watch=true`, "8");
  assert.match(answer, /^HTTP\/1\.1 400 /);
  assert.match(answer, /^sec-websocket-version: 13\r$/m);
  socket.destroy();
  await idle();
});

test("a watch over WebSocket ends with a goodbye when its time is over", async (t) => {
  const { connect, server, make, idle } = await world(t);
  await make("a");
  const client = connect(`${configMaps}?watch=true&timeoutSeconds=5`);
  await client.event();
  const code = client.closeCode();
  await server.clock.advance(5000);
  assert.equal(await code, 1000);
  await idle();
});

test("a client of a watch over WebSocket may ping, talk and leave, and leaves nothing behind", async (t) => {
  const { connect, make, idle, port } = await world(t);
  await make("a");
  const client = connect(`${configMaps}?watch=true`);
  await client.event();
  client.socket.ping("are you there");
  const [said] = await once(client.socket, "pong");
  assert.equal(String(said), "are you there");
  client.socket.send("nobody listens");
  await make("b");
  assert.equal(summary(await client.event()), "ADDED b");
  const code = client.closeCode();
  client.socket.close(4000, "enough");
  assert.equal(await code, 1000);
  await idle();

  const gone = connect(`${configMaps}?watch=true`);
  await gone.event();
  gone.socket.terminate();
  await idle();

  const loud = connect(`${configMaps}?watch=true`);
  await loud.event();
  const loudCode = loud.closeCode();
  loud.socket.send(Buffer.alloc(100_000));
  assert.equal(await loudCode, 1009);
  await idle();

  const raw = await handshake(port, `${configMaps}?watch=true`);
  raw.write(Buffer.from([0x81, 0x01, 0x61])); // a frame without a mask
  const answer = await rest(raw);
  assert.deepEqual([...answer.subarray(answer.indexOf(Buffer.of(0x88)))].slice(2, 4), [1002 >> 8, 1002 & 0xff]);
  await idle();
});

test("a client of a watch over WebSocket that does not read for a while misses nothing", async (t) => {
  const { port, make } = await world(t);
  const socket = await handshake(port, `${configMaps}?watch=true`);
  socket.pause();
  const names = Array.from({ length: 300 }, (_, i) => `large-${i}`);
  for (const name of names) await make(name, { x: "y".repeat(20_000) });
  const seen: string[] = [];
  let text = "";
  for await (const part of socket) {
    text += (part as Buffer).toString("latin1");
    const events = text.split('"kind":"ConfigMap"');
    text = events.pop() ?? "";
    for (const one of `${events.join(" ")}${text}`.matchAll(/"name":"(large-\d+)"/g))
      if (one[1] !== undefined && !seen.includes(one[1])) seen.push(one[1]);
    if (seen.length === names.length) break;
  }
  assert.deepEqual(seen, names);
});

/** Asks for a WebSocket by hand, without an Origin. */
async function ask(port: number, path: string, version: string) {
  const socket = connect(port, "127.0.0.1");
  const head = ["host: 127.0.0.1", "connection: Upgrade", "upgrade: websocket", `sec-websocket-version: ${version}`];
  socket.write(`GET ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\nsec-websocket-key: ${"A".repeat(22)}==\r\n\r\n`);
  const [first] = await once(socket, "data");
  return { socket, answer: String(first) };
}

async function handshake(port: number, path: string): Promise<Socket> {
  const { socket, answer } = await ask(port, path, "13");
  assert.match(answer, /^HTTP\/1\.1 101 /);
  return socket;
}

async function rest(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

test("a log over WebSocket comes in each form, after an empty message that says it is open", async (t) => {
  const { connect, signals } = await logs(t);
  for (const [protocols, isBinary, expected] of [
    [[], true, ["", "one\n", "two\n"]],
    [["binary.k8s.io"], true, ["", "one\n", "two\n"]],
    [["base64.binary.k8s.io"], false, ["", "b25lCg==", "dHdvCg=="]],
  ] as const) {
    const client = connect("/api/v1/namespaces/default/pods/web/log", protocols);
    const code = client.closeCode();
    const got: string[] = [];
    for (const _ of expected) {
      const message = await client.next();
      assert.equal(message.isBinary, isBinary);
      got.push(message.data.toString());
    }
    assert.deepEqual([got, await code], [expected, 1000]);
  }
  const { code } = await connect("/api/v1/namespaces/default/pods/web/log", ["v4.channel.k8s.io"]).refusal();
  assert.equal(code, 403);
  assert.equal(signals.at(-1)?.aborted, true);
});

test("a client that leaves a log over WebSocket ends the kubelet's answer", async (t) => {
  const { connect, signals, idle } = await logs(t);
  const client = connect("/api/v1/namespaces/default/pods/web/log?follow=true");
  await client.next();
  client.socket.close();
  await client.closeCode();
  await idle();
  assert.equal(signals[0]?.aborted, true);
});

/** A pod whose log has two lines, and does not end when it is followed. */
async function logs(t: TestContext): Promise<World & { readonly signals: readonly AbortSignal[] }> {
  const signals: AbortSignal[] = [];
  async function* lines(isFollowed: boolean, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield Buffer.from("one\n");
    yield Buffer.from("two\n");
    if (isFollowed) await once(signal, "abort");
  }
  const made = await world(t, {
    ...noConnection,
    kubelet: async (_, { url, signal }) => {
      signals.push(signal);
      return { code: 200, body: lines(url.includes("follow"), signal) };
    },
  });
  const { server } = made;
  await server.call("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  const merge = { "content-type": "application/merge-patch+json" };
  const addresses = [{ type: "InternalIP", address: "10.0.0.7" }];
  await server.call("PATCH", "/api/v1/nodes/n1/status", { status: { addresses } }, merge);
  const spec = { nodeName: "n1", containers: [{ name: "c", image: "x" }] };
  const pod = await server.call("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "web" }, spec });
  assert.equal(pod.code, 201, pod.text);
  return { ...made, signals };
}
