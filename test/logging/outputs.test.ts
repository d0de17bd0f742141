// Outputs against real servers on the loopback.
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { seededRandom } from "#base/random.ts";
import { collectorMetrics } from "#logging/collector-metrics.ts";
import { deliver } from "#logging/deliver.ts";
import { elasticsearchOutput, lokiOutput } from "#logging/host/http-outputs.ts";
import { syslogOutput } from "#logging/host/syslog-output.ts";
import type { ContainerLine } from "#logging/log-line.ts";
import type { LogOutput } from "#logging/output.ts";
import { parseLogSettings } from "#logging/settings.ts";

const { signal } = new AbortController();
const source = {
  ...{ node: "node-1", namespace: "shop", pod: "web-1", uid: "u1", container: "nginx", attempt: 0 },
  labels: { app: "web", "app.kubernetes.io/name": "x" },
};
const lineOf = (position: number, text: string, stream: "stdout" | "stderr" = "stdout"): ContainerLine => ({
  ...{ source, position, text, stream, isCut: false },
  time: "2026-01-02T03:04:05.123456789Z",
});

interface Taken {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Answer = (taken: Taken, count: number) => readonly [code: number, body: string];

class Receiver implements AsyncDisposable {
  readonly taken: Taken[] = [];
  readonly #server: Server;

  private constructor(answer: Answer) {
    this.#server = createServer(async (request, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const taken = { url: request.url ?? "", headers: request.headers, body: Buffer.concat(pieces).toString("utf8") };
      this.taken.push(taken);
      const [code, body] = answer(taken, this.taken.length);
      response.writeHead(code).end(body);
    });
  }

  static async start(answer: Answer): Promise<Receiver> {
    const receiver = new Receiver(answer);
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const settingsOf = (settings: Record<string, string>) => parseLogSettings(settings).output as never;

async function delivered(output: LogOutput, lines: readonly ContainerLine[]): Promise<string> {
  const registry = new MetricRegistry();
  const metrics = collectorMetrics(
    registry,
    () => 0,
    () => 0,
  );
  const options = { output: () => output, clock: systemClock, random: seededRandom(1), log: silentLog, metrics };
  await deliver(lines, options, signal);
  output.close();
  return registry.text();
}

test("Loki gets streams by labels, is asked again when it is busy, and told who the tenant is", async () => {
  await using loki = await Receiver.start((_, count) => (count === 1 ? [500, "later"] : [204, ""]));
  const output = lokiOutput(settingsOf({ output: "loki", url: loki.url, "loki.tenant": "t" }), {
    headers: { authorization: "Basic abc" },
  });
  const text = await delivered(output, [lineOf(1, "one"), lineOf(2, "two", "stderr"), lineOf(3, "three")]);
  const [first, second] = loki.taken;
  assert.equal(loki.taken.length, 2);
  assert.equal(first?.body, second?.body);
  assert.deepEqual(
    [second?.url, second?.headers["x-scope-orgid"], second?.headers.authorization],
    ["/loki/api/v1/push", "t", "Basic abc"],
  );
  const labels = {
    app: "web",
    app_kubernetes_io_name: "x",
    namespace: "shop",
    pod: "web-1",
    container: "nginx",
    node: "node-1",
  };
  const time = "1767323045123456789";
  assert.deepEqual(JSON.parse(second?.body ?? ""), {
    streams: [
      {
        stream: { ...labels, stream: "stdout" },
        values: [
          [time, "one"],
          [time, "three"],
        ],
      },
      { stream: { ...labels, stream: "stderr" }, values: [[time, "two"]] },
    ],
  });
  assert.match(text, /sent_lines_total 3$/m);
  assert.match(text, /send_failures_total 1$/m);
});

test("Elasticsearch gets a document for each line, those it could not take again, and refused ones are counted", async () => {
  await using server = await Receiver.start((_, count) => {
    const items = count === 1 ? [201, 429, 400, 409] : [201];
    return [200, JSON.stringify({ errors: count === 1, items: items.map((status) => ({ create: { status } })) })];
  });
  const output = elasticsearchOutput(settingsOf({ output: "elasticsearch", url: `${server.url}/es/` }), "e", {});
  const text = await delivered(
    output,
    [1, 2, 3, 4].map((n) => lineOf(n, `line ${n}`)),
  );
  const [first, second] = server.taken;
  assert.equal(first?.url, "/es/_bulk");
  const rows = (first?.body ?? "")
    .trimEnd()
    .split("\n")
    .map((row) => JSON.parse(row));
  assert.deepEqual(rows[0], { create: { _index: "kubernetes-2026.01.02", _id: "e/u1/nginx/0/1" } });
  assert.equal(rows[1].message, "line 1");
  assert.deepEqual(rows[1].kubernetes.labels, { app: "web", "app_kubernetes_io/name": "x" });
  assert.match(second?.body ?? "", /^\S+"e\/u1\/nginx\/0\/2"\S+\n.*"line 2".*\n$/);
  assert.match(text, /dropped_lines_total\{reason="rejected"\} 1$/m);
  assert.match(text, /sent_lines_total 3$/m);
});

test("a batch that is too large is divided, and a line that is too large by itself is dropped and counted", async () => {
  await using loki = await Receiver.start(({ body }) => (body.length > 600 ? [413, ""] : [204, ""]));
  const output = lokiOutput(settingsOf({ output: "loki", url: loki.url }), {});
  const lines = [...[1, 2, 3, 4].map((n) => lineOf(n, "y".repeat(200))), lineOf(5, "z".repeat(1000))];
  const text = await delivered(output, lines);
  assert.match(text, /sent_lines_total 4$/m);
  assert.match(text, /dropped_lines_total\{reason="rejected"\} 1$/m);
});

const wanted = `<14>1 2026-01-02T03:04:05.123456Z node-1 nginx web-1 - [kubernetes@32473 namespace="shop" pod="web-1" container="nginx" uid="u1" stream="stdout" labels="app=web,app.kubernetes.io/name=x"] one ü`;

test("syslog over TCP has frames with their lengths, and comes back after a lost connection", async () => {
  const texts: Buffer[] = [];
  let count = 0;
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    if (++count === 1) return void socket.destroy();
    socket.on("data", (piece) => texts.push(piece));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const output = syslogOutput(settingsOf({ output: "syslog", url: `tcp://127.0.0.1:${port}` }), undefined);
  try {
    // The protocol has no acknowledgement: what is on the way when a connection breaks may be lost, what comes later is not.
    for (let i = 0; count < 2 || texts.length === 0; i++) {
      assert.ok(i < 500);
      await output.send([lineOf(1, "one ü")], signal).catch(() => undefined);
      await new Promise(setImmediate);
    }
  } finally {
    output.close();
    server.close();
  }
  const bytes = Buffer.concat(texts).toString("utf8");
  assert.ok(bytes.startsWith(`${Buffer.byteLength(wanted)} ${wanted}`), bytes);
});

test("syslog over UDP has a datagram for each line, and none that is too long", async () => {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const output = syslogOutput(
    settingsOf({ output: "syslog", url: `udp://127.0.0.1:${socket.address().port}` }),
    undefined,
  );
  try {
    const first = once(socket, "message");
    await output.send([lineOf(1, "one ü")], signal);
    assert.equal(String((await first)[0]), wanted);
    const second = once(socket, "message");
    await output.send([lineOf(2, "ü".repeat(10_000))], signal);
    assert.match(String((await second)[0]), /ü$/);
  } finally {
    output.close();
    socket.close();
  }
});

test("settings that cannot be meant are refused with their name and what they may be", () => {
  const refused: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ output: "kafka" }, /^output: "kafka" is none of store, loki/],
    [{ output: "loki" }, /^url: "" is no address for the output loki; it begins with http:/],
    [{ output: "syslog", url: "http://a" }, /^url: .* udp:\/\/ or tcp:\/\//],
    [{ batchLines: "many" }, /^batchLines: "many" is no number from 1 to 10000$/],
    [{ bufferBytes: "1" }, /^bufferBytes: "1" is no size from 65536/],
    [{ "store.maxAge": "week" }, /^store.maxAge: "week" is no time/],
    [{ nothing: "x" }, /^there is no setting "nothing"; there are output/],
  ];
  for (const [settings, message] of refused) assert.throws(() => parseLogSettings(settings), { message });
});
