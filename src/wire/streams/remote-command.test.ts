import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { spdyCompression } from "../host/streams/spdy-compression.ts";
import { type ByteStream, byteStreamPair } from "./byte-stream.ts";
import { decodeChannelMessage } from "./channels.ts";
import { type PortForwarder, servePortForward } from "./port-forward.ts";
import {
  exitStatus,
  type RemoteCommand,
  type RemoteCommandOptions,
  type RemoteCommandStreams,
  remoteCommandOptions,
  serveRemoteCommand,
} from "./remote-command.ts";
import { runOverSpdy } from "./remote-command-client.ts";
import { SpdyConnection } from "./spdy.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
async function text(input: AsyncIterable<Uint8Array>): Promise<string> {
  let all = "";
  for await (const part of input) all += Buffer.from(part).toString();
  return all;
}
async function* list<T>(...items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const all: RemoteCommandOptions = { stdin: true, stdout: true, stderr: true, tty: false };
const headers = (protocol: string) => ({
  connection: "Upgrade",
  upgrade: "SPDY/3.1",
  "x-stream-protocol-version": protocol,
});

interface Served {
  readonly near: ByteStream;
  readonly client: SpdyConnection;
  readonly done: Promise<void>;
}

/** A client connected to a server that runs `run`. */
async function served(
  clock: ManualClock,
  run: RemoteCommand,
  streams = all,
  protocol = "v4.channel.k8s.io",
): Promise<Served> {
  const response = await serveRemoteCommand(
    { headers: headers(protocol) },
    { streams, run, clock, compression: spdyCompression, idleMs: 1000, creationMs: 100 },
  );
  assert.equal(response.code, 101);
  const [near, far] = byteStreamPair();
  const done = response.upgraded!(far);
  done.catch(() => undefined);
  const client = new SpdyConnection({ connection: near, role: "client", compression: spdyCompression() });
  client.run().catch(() => undefined);
  return { near, client, done };
}

const cat: RemoteCommand = async ({ stdin, stdout, stderr }) => {
  for await (const part of stdin ?? []) await stdout?.(part);
  await stderr?.(bytes("done"));
  return exitStatus(0);
};

test("a command's streams and exit code arrive, as does the size of its terminal", async () => {
  const sizes: unknown[] = [];
  const run: RemoteCommand = async ({ stdin, stdout, resizes }) => {
    for await (const size of resizes) {
      sizes.push(size);
      if (sizes.length === 2) break;
    }
    await stdout?.(bytes(await text(stdin ?? list())));
    return exitStatus(7);
  };
  const options = { ...all, stderr: false, tty: true };
  const { client } = await served(new ManualClock(), run, options);
  const seen: string[] = [];
  const streams: RemoteCommandStreams = {
    stdin: list(bytes("in")),
    stdout: async (part) => void seen.push(Buffer.from(part).toString()),
    stderr: undefined,
    resizes: list({ width: 80, height: 24 }, { width: 132, height: 50 }),
  };
  assert.deepEqual(await runOverSpdy(client, options, streams), exitStatus(7));
  assert.deepEqual(
    [seen, sizes],
    [
      ["in"],
      [
        { width: 80, height: 24 },
        { width: 132, height: 50 },
      ],
    ],
  );
});

test("before v4 the error stream holds text, and nothing for success", async () => {
  for (const protocol of ["v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"])
    for (const [code, expected] of [
      [0, ""],
      [2, "command terminated with non-zero exit code: exit status 2"],
    ] as const) {
      const run: RemoteCommand = async () => exitStatus(code);
      const { client } = await served(new ManualClock(), run, { ...all, stdin: false, stderr: false }, protocol);
      const errors = await client.open({ streamtype: "error" });
      await client.open({ streamtype: "stdout" });
      assert.equal(await text(errors.input), expected, protocol);
    }
});

test("a client that does not open its streams, or sends nothing for long, is dropped", async () => {
  const clock = new ManualClock();
  const waiting = await served(clock, cat);
  await waiting.client.open({ streamtype: "error" });
  await clock.advance(100);
  await assert.rejects(waiting.done, /timed out waiting for client to create streams/);

  let aborted = false;
  const forever: RemoteCommand = (_streams, signal) =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        aborted = true;
        reject(signal.reason);
      }),
    );
  const idle = await served(clock, forever, { ...all, stdin: false, stdout: true, stderr: false });
  await idle.client.open({ streamtype: "error" });
  await idle.client.open({ streamtype: "stdout" });
  await clock.advance(999);
  assert.equal(aborted, false);
  await clock.advance(1);
  await idle.done;
  assert.equal(aborted, true);
});

test("a command that fails to start is an internal error", async () => {
  const run: RemoteCommand = async () => {
    throw new Error("start container", { cause: new Error("no such file") });
  };
  const { client } = await served(new ManualClock(), run);
  const status = await runOverSpdy(client, all, {
    stdin: list(),
    stdout: async () => undefined,
    stderr: async () => undefined,
    resizes: list(),
  });
  assert.equal(status.message, "Internal error occurred: start container: no such file");
});

test("a request that cannot be upgraded is told why", async () => {
  const ask = async (given: Readonly<Record<string, string>>) => {
    const server = { streams: all, run: cat, clock: new ManualClock(), compression: spdyCompression };
    const { code, body } = await serveRemoteCommand({ headers: given }, server);
    return [code, String(body).trim()];
  };
  const socket = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  assert.deepEqual(await ask(headers("v9.channel.k8s.io")), [
    403,
    "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], server accepts [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]",
  ]);
  assert.deepEqual(await ask({ "x-stream-protocol-version": "v4.channel.k8s.io" }), [
    400,
    "unable to upgrade: missing upgrade headers in request",
  ]);
  assert.deepEqual(await ask({}), [
    400,
    "unable to upgrade: header X-Stream-Protocol-Version does not exist in request with 0 headers",
  ]);
  assert.deepEqual(await ask(socket), [400, "missing or bad WebSocket-Key"]);
  assert.equal((await ask({ ...socket, "sec-websocket-version": "8" }))[0], 400);
  assert.equal(
    (await ask({ ...socket, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-protocol": "nope" }))[0],
    403,
  );
});

test("which streams are wanted stands in the query; a terminal has no stderr", () => {
  const of = (query: string) => remoteCommandOptions(new URLSearchParams(query));
  assert.deepEqual(of("input=1&output=1&error=1"), all);
  assert.deepEqual(of("output=1&error=1&tty=1"), { stdin: false, stdout: true, stderr: false, tty: true });
  assert.equal(of("command=x"), "you must specify at least 1 of stdin, stdout, stderr");
});

test("channel messages are data or the end of a channel; nonsense is passed over", () => {
  const raw = (...values: readonly number[]) => Uint8Array.from(values);
  assert.deepEqual(decodeChannelMessage("v4.channel.k8s.io", raw(255, 0)), {
    type: "data",
    channel: 255,
    data: raw(0),
  });
  assert.deepEqual(decodeChannelMessage("v5.channel.k8s.io", raw(255, 0)), { type: "close", channel: 0 });
  assert.equal(decodeChannelMessage("v5.channel.k8s.io", raw(255)), undefined);
  assert.equal(decodeChannelMessage("v5.channel.k8s.io", raw()), undefined);
  const data = decodeChannelMessage("base64.channel.k8s.io", bytes("0Zm9v"));
  assert.deepEqual(data?.type === "data" && [data.channel, Buffer.from(data.data).toString()], [0, "foo"]);
  assert.equal(decodeChannelMessage("base64.channel.k8s.io", bytes("0!!")), undefined);
});

/** A client connected to a server that forwards to `forward`. */
async function forwarding(clock: ManualClock, forward: PortForwarder): Promise<SpdyConnection> {
  const response = await servePortForward(
    { headers: headers("portforward.k8s.io"), query: new URLSearchParams() },
    { pod: "web, uid 1", forward, clock, compression: spdyCompression, creationMs: 100 },
  );
  const [near, far] = byteStreamPair();
  response.upgraded!(far).catch(() => undefined);
  const client = new SpdyConnection({ connection: near, role: "client", compression: spdyCompression() });
  client.run().catch(() => undefined);
  return client;
}

test("each pair of streams is a connection of its own, and says why it failed", async () => {
  const client = await forwarding(new ManualClock(), async (port, stream) => {
    if (port === 81) throw new Error("connection refused");
    await stream.write(bytes(`${port}:${await text(stream.input)}`));
  });
  const pair = async (port: string, requestid: string) => {
    const common = { port, ...(requestid && { requestid }) };
    const error = await client.open({ ...common, streamtype: "error" });
    const data = await client.open({ ...common, streamtype: "data" });
    return { error, data };
  };
  const [one, two, bad] = [await pair("80", "0"), await pair("8080", ""), await pair("81", "2")];
  for (const { data } of [two, one]) {
    await data.write(bytes("hello"));
    await data.end();
  }
  assert.deepEqual([await text(one.data.input), await text(one.error.input)], ["80:hello", ""]);
  assert.equal(await text(two.data.input), "8080:hello");
  assert.equal(await text(bad.error.input), "error forwarding port 81 to pod web, uid 1: connection refused");
  await assert.rejects(text(bad.data.input), /reset/);
});

test("a connection that its client cancels ends, and is no failure", async () => {
  const ended = Promise.withResolvers<unknown>();
  const client = await forwarding(new ManualClock(), async (_port, stream) => {
    await stream.write(bytes("all there is"));
    await stream.end();
    await text(stream.input).catch((error) => {
      ended.resolve(error);
      throw error;
    });
  });
  const common = { port: "80", requestid: "0" };
  const error = await client.open({ ...common, streamtype: "error" });
  const data = await client.open({ ...common, streamtype: "data" });
  assert.equal(await text(data.input), "all there is");
  data.destroy();
  assert.match(String(await ended.promise), /reset with status 5/, "nothing of it is waited for any more");
  assert.equal(await text(error.input), "");
});

test("streams that make no sense are refused, and half a pair does not wait for ever", async () => {
  const clock = new ManualClock();
  const client = await forwarding(clock, async () => undefined);
  for (const wrong of [{ port: "0" }, { port: "65536" }, { port: "x" }, {}, { port: "80", streamtype: "stdin" }])
    await assert.rejects(client.open({ streamtype: "data", ...wrong }), /reset with status 3/);
  const error = await client.open({ port: "80", streamtype: "error", requestid: "1" });
  await assert.rejects(client.open({ port: "80", streamtype: "error", requestid: "1" }), /reset with status 3/);
  const refused = assert.rejects(text(error.input), /reset/);
  await clock.advance(100);
  await refused;
});
