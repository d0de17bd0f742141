// Floods of HTTP/2 frames. The connection they come from is closed, and others are served meanwhile.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, type Front, startFront } from "./front.ts";
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  getHeaders,
  HEADERS,
  PING,
  postHeaders,
  RawHttp2,
  RST_STREAM,
  SETTINGS,
  uint32,
  WINDOW_UPDATE,
} from "./raw-http2.ts";

const FLOOD = 20_000;
const CANCEL = 8;

/** Writes until the connection is closed, at most `FLOOD` times. */
async function flood(client: RawHttp2, next: (i: number) => Uint8Array): Promise<number> {
  for (let i = 0; i < FLOOD; i++) {
    if (client.socket.destroyed) return i;
    await client.write(next(i));
  }
  return FLOOD;
}

async function assertOthersAreServed(front: Front): Promise<void> {
  assert.equal((await ask(front)).code, 200);
}

test("requests that are cancelled as soon as they are made end the connection", async () => {
  await using front = await startFront({ resets: 200, resetsPerSecond: 1 });
  const client = await RawHttp2.connect(front.port, front.ca);
  const goaway = client.next(GOAWAY);
  await flood(client, (i) =>
    Buffer.concat([
      frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, getHeaders),
      frame(RST_STREAM, 0, 2 * i + 1, uint32(CANCEL)),
    ]),
  );
  assert.ok(await goaway, "the client is told to go away");
  await client.closed;
  assert.ok(front.requests() < 1000, `${front.requests()} requests got through`);
  await assertOthersAreServed(front);
});

test("requests that make the server cancel them end the connection, too", async () => {
  await using front = await startFront({ resets: 200, resetsPerSecond: 1 });
  const client = await RawHttp2.connect(front.port, front.ca);
  await flood(client, (i) =>
    Buffer.concat([frame(HEADERS, END_HEADERS, 2 * i + 1, getHeaders), frame(WINDOW_UPDATE, 0, 2 * i + 1, uint32(0))]),
  );
  await client.closed;
  assert.ok(front.requests() < 1000, `${front.requests()} requests got through`);
  await assertOthersAreServed(front);
});

test("headers without an end are not collected", async () => {
  await using front = await startFront();
  const client = await RawHttp2.connect(front.port, front.ca);
  await client.write(frame(HEADERS, 0, 1, getHeaders));
  const sent = await flood(client, () => frame(CONTINUATION, 0, 1, getHeaders));
  await client.closed;
  assert.ok(sent < FLOOD);
  assert.equal(front.requests(), 0);
  await assertOthersAreServed(front);
});

const floods: readonly (readonly [what: string, next: (i: number) => Buffer])[] = [
  ["settings", () => frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(65_535)]))],
  ["pings", () => frame(PING, 0, 0, Buffer.alloc(8))],
];
for (const [what, next] of floods)
  test(`${what} whose answers are not read end the connection or wait for their sender`, {
    timeout: 120_000,
  }, async () => {
    await using front = await startFront();
    const client = await RawHttp2.connect(front.port, front.ca);
    client.socket.pause();
    const batch = Buffer.concat(Array.from({ length: 1000 }, (_, i) => next(i)));
    let isStuck = false;
    for (let i = 0; i < FLOOD && !client.socket.destroyed && !isStuck; i++) {
      const written = client.write(batch);
      // Others are served whether the flood is taken, refused or left standing in its connection.
      await assertOthersAreServed(front);
      isStuck = client.socket.writableNeedDrain && (await Promise.race([written.then(() => false), turns(50)]));
      if (i > 200) break;
    }
    client.socket.destroy();
    await assertOthersAreServed(front);
  });

const turns = async (count: number): Promise<true> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
  return true;
};

const invalid: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["data on no stream", frame(DATA, 0, 0, Buffer.from("x"))],
  ["data on a stream that was never opened", frame(DATA, 0, 7, Buffer.from("x"))],
  ["a frame that is too large", frame(HEADERS, END_HEADERS, 1, Buffer.alloc(1 << 20))],
  ["headers that cannot be unpacked", frame(HEADERS, END_HEADERS | END_STREAM, 1, Buffer.alloc(100, 0xff))],
  ["a stream of the server's", frame(HEADERS, END_HEADERS | END_STREAM, 2, getHeaders)],
  ["a window that overflows", frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 31 - 1))],
  ["a continuation of nothing", frame(CONTINUATION, END_HEADERS, 1, getHeaders)],
  ["settings of half a setting", frame(SETTINGS, 0, 0, Buffer.alloc(5))],
  ["a ping of seven bytes", frame(PING, 0, 0, Buffer.alloc(7))],
  ["noise", Buffer.from(Array.from({ length: 100 }, (_, i) => (i * 167) & 255))],
];
for (const [what, bytes] of invalid)
  test(`${what} ends the connection`, async () => {
    await using front = await startFront();
    const client = await RawHttp2.connect(front.port, front.ca);
    await client.write(bytes);
    await client.closed;
    assert.equal(front.requests(), 0);
    await assertOthersAreServed(front);
  });

test("a connection has so many streams at a time and no more", async () => {
  await using front = await startFront({ streams: 10 });
  const client = await RawHttp2.connect(front.port, front.ca);
  for (let i = 0; i < 20; i++) await client.write(frame(HEADERS, END_HEADERS, 2 * i + 1, postHeaders));
  const refused = await client.next(RST_STREAM);
  assert.ok(refused && refused.stream > 20);
  assert.ok(front.requests() <= 10);
  client.socket.destroy();
  await assertOthersAreServed(front);
});
