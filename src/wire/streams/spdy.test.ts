import assert from "node:assert/strict";
import { test } from "node:test";
import { spdyCompression } from "../host/streams/spdy-compression.ts";
import { type ByteStream, byteStreamPair } from "./byte-stream.ts";
import { SpdyConnection, type SpdyStream } from "./spdy.ts";
import { encodeSpdyFrame, type SpdyFrame, SpdyFrameReader } from "./spdy-frames.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
async function text(input: AsyncIterable<Uint8Array>): Promise<string> {
  let all = "";
  for await (const part of input) all += Buffer.from(part).toString();
  return all;
}

/** A client and a server on one connection, and the streams that the server has accepted. */
function pair(options: { readonly streamLimit?: number; readonly queueLimit?: number } = {}) {
  const [here, there] = byteStreamPair();
  const accepted: SpdyStream[] = [];
  const client = new SpdyConnection({ connection: here, role: "client", compression: spdyCompression() });
  const server = new SpdyConnection({
    ...options,
    connection: there,
    role: "server",
    compression: spdyCompression(),
    accept: (stream) => void accepted.push(stream),
  });
  const running = Promise.allSettled([client.run(), server.run()]);
  return { client, server, accepted, here, there, running };
}

test("streams carry their headers and bytes both ways, and each way ends by itself", async () => {
  const { client, accepted, running } = pair();
  const streams = await Promise.all(["error", "stdin", "stdout"].map((streamType) => client.open({ streamType })));
  assert.deepEqual(
    accepted.map(({ id, headers }) => [id, headers.streamtype]),
    [
      [1, "error"],
      [3, "stdin"],
      [5, "stdout"],
    ],
  );
  await streams[1]!.write(bytes("in"));
  await streams[1]!.end();
  assert.equal(await text(accepted[1]!.input), "in");
  await accepted[1]!.write(bytes("out"));
  await accepted[1]!.end();
  assert.equal(await text(streams[1]!.input), "out");
  await client.close();
  assert.deepEqual(
    (await running).map(({ status }) => status),
    ["fulfilled", "fulfilled"],
  );
});

test("a megabyte goes through although the other side never speaks of windows", async () => {
  const { client, accepted } = pair();
  const stream = await client.open({});
  const whole = "x".repeat(1 << 20);
  const [seen] = await Promise.all([text(accepted[0]!.input), stream.write(bytes(whole)).then(() => stream.end())]);
  assert.equal(seen.length, whole.length);
});

test("a writer waits for a reader that does not read", async () => {
  const { client, accepted } = pair({ queueLimit: 1000 });
  const stream = await client.open({});
  let done = false;
  const writing = stream.write(new Uint8Array(1 << 20)).then(() => {
    done = true;
  });
  for (let i = 0; i < 50; i++) await new Promise(setImmediate);
  assert.equal(done, false);
  const reading = text(accepted[0]!.input);
  await writing;
  await stream.end();
  assert.equal((await reading).length, 1 << 20);
});

/** The far end of a connection by hand, frame by frame. */
function byHand(far: ByteStream) {
  const reader = new SpdyFrameReader();
  const frames = (async function* () {
    for await (const part of far.input) yield* reader.feed(part);
  })();
  return {
    send: (frame: SpdyFrame) => far.write(encodeSpdyFrame(frame)),
    async next(): Promise<SpdyFrame> {
      const { value } = await frames.next();
      assert.ok(value, "the connection ended");
      return value;
    },
  };
}

test("a peer that speaks of windows is sent no more than they allow, and is let send again", async () => {
  const [here, far] = byteStreamPair();
  const connection = new SpdyConnection({ connection: here, role: "client", compression: spdyCompression() });
  const running = connection.run();
  const { send, next } = byHand(far);
  await send({ type: "settings", values: new Map([[7, 10]]) });
  const opening = connection.open({ a: "b" });
  const syn = await next();
  assert.equal(syn.type, "synStream");
  const { deflate } = spdyCompression();
  await send({ type: "synReply", streamId: 1, fin: false, block: await deflate(new Uint8Array(4)) });
  const stream = await opening;
  const writing = stream.write(new Uint8Array(25));
  const sizes: number[] = [];
  for (let left = 25; left > 0; ) {
    const frame = await next();
    assert.equal(frame.type, "data");
    sizes.push(frame.type === "data" ? frame.data.length : 0);
    left -= sizes.at(-1)!;
    await send({ type: "windowUpdate", streamId: 1, delta: 10 });
  }
  await writing;
  assert.deepEqual(sizes, [10, 10, 5]);
  await send({ type: "data", streamId: 1, fin: true, data: bytes("reply") });
  assert.equal(await text(stream.input), "reply");
  assert.deepEqual(await next(), { type: "windowUpdate", streamId: 0, delta: 5 });
  await far.end();
  await running;
});

test("what was sent before a stream was cancelled arrives, where that is the way to end one", async () => {
  for (const cancelEnds of [true, false]) {
    const [near, far] = byteStreamPair();
    const compression = spdyCompression();
    const client = new SpdyConnection({ connection: near, role: "client", compression, cancelEnds });
    const accepted: SpdyStream[] = [];
    const server = new SpdyConnection({
      connection: far,
      role: "server",
      compression: spdyCompression(),
      accept: (stream) => void accepted.push(stream),
    });
    const running = [client.run(), server.run()].map((run) => run.catch(() => undefined));
    const stream = await client.open({});
    await accepted[0]!.write(bytes("last words"));
    accepted[0]!.destroy();
    await assert.rejects(
      (async () => {
        for (;;) await stream.write(bytes("x"));
      })(),
      /reset with status 5/,
    );
    if (cancelEnds) assert.equal(await text(stream.input), "last words");
    else await assert.rejects(text(stream.input), /reset with status 5/);
    near.destroy();
    await Promise.all(running);
  }
});

test("pings are answered, more streams than allowed refused, resets end a stream", async () => {
  const { client, accepted, here } = pair({ streamLimit: 1 });
  const stream = await client.open({});
  await assert.rejects(client.open({}), /reset with status 3/);
  accepted[0]!.destroy();
  await assert.rejects(text(stream.input), /reset with status 5/);
  await assert.rejects(stream.write(bytes("x")), /reset/);
  here.destroy();
  const [near, far] = byteStreamPair();
  const server = new SpdyConnection({ connection: near, role: "server", compression: spdyCompression() });
  const running = server.run();
  const { send, next } = byHand(far);
  await send({ type: "ping", id: 7 });
  assert.deepEqual(await next(), { type: "ping", id: 7 });
  await far.end();
  await running;
});

test("when the connection is cut every stream fails, and whoever waits is told", async () => {
  const { client, accepted, here, running } = pair();
  const stream = await client.open({});
  const reading = [text(stream.input), text(accepted[0]!.input)];
  here.destroy(new Error("cut"));
  for (const one of reading) await assert.rejects(one, /cut/);
  await assert.rejects(client.open({}), /cut/);
  assert.deepEqual(
    (await running).map(({ status }) => status),
    ["rejected", "rejected"],
  );
});

test("headers that are no zlib, a bomb, or streams out of order break the connection", async () => {
  const compression = spdyCompression();
  const bomb = await compression
    .deflate(new Uint8Array(60_000))
    .then((one) => compression.deflate(new Uint8Array(60_000)).then((two) => Buffer.concat([one, two])));
  const syn = (streamId: number, block: Uint8Array): SpdyFrame => ({
    type: "synStream",
    streamId,
    priority: 0,
    fin: false,
    unidirectional: false,
    block,
  });
  const good = await spdyCompression().deflate(new Uint8Array(4));
  const table: readonly [SpdyFrame, RegExp][] = [
    [syn(1, bytes("nonsense")), /not valid zlib/],
    [syn(1, bomb), /inflates to more than/],
    [syn(2, good), /may not be opened now/],
    [syn(0, good), /may not be opened now/],
  ];
  for (const [frame, message] of table) {
    const [near, far] = byteStreamPair();
    const server = new SpdyConnection({ connection: near, role: "server", compression: spdyCompression() });
    await far.write(encodeSpdyFrame(frame));
    await assert.rejects(server.run(), { name: "SpdyError", message });
  }
});
