import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { byteStreamPair } from "./byte-stream.ts";
import { acceptWebSocket } from "./websocket.ts";
import { clientWebSocket, WebSocketHandshakeError, webSocketHandshake } from "./websocket-client.ts";
import { encodeWebSocketFrame } from "./websocket-frames.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (part: Uint8Array) => new TextDecoder().decode(part);
const newMask = () => new Uint8Array([1, 2, 3, 4]);

test("a client and a server of ours understand each other, whatever the size", async () => {
  const handshake = webSocketHandshake(["a", "b"], new Uint8Array(16));
  const answer = await acceptWebSocket(handshake.headers, {
    protocols: ["b"],
    serve: async (socket) => {
      for await (const message of socket.messages) await socket.send("binary", message);
    },
  });
  const headers = answer.headers as Record<string, string>;
  assert.equal(await handshake.protocolOf(headers), "b");
  const [ours, theirs] = byteStreamPair();
  const served = answer.upgraded?.(theirs);
  const socket = clientWebSocket(ours, { clock: new ManualClock(), newMask });
  const sizes = [0, 1, 125, 126, 65_535, 65_536, 200_000];
  const sending = (async () => {
    for (const size of sizes) await socket.send("binary", new Uint8Array(size).fill(size % 251));
  })();
  const got: number[] = [];
  for await (const message of socket.messages) {
    assert.ok(message.every((byte) => byte === message.length % 251));
    got.push(message.length);
    if (got.length === sizes.length) await socket.close();
  }
  await sending;
  await served;
  assert.deepEqual(got, sizes);
});

test("an answer that is no handshake of this protocol is refused", async () => {
  const handshake = webSocketHandshake(["a"], new Uint8Array(16));
  const fine = (await acceptWebSocket(handshake.headers, { protocols: ["a"], serve: async () => undefined })).headers;
  const headers = fine as Record<string, string>;
  assert.equal(await handshake.protocolOf(headers), "a");
  for (const wrong of [{ upgrade: "h2c" }, { "sec-websocket-accept": "x" }, { "sec-websocket-protocol": "other" }])
    await assert.rejects(handshake.protocolOf({ ...headers, ...wrong }), WebSocketHandshakeError);
});

test("what the other side said counts although it was gone before it heard us", async () => {
  const [ours, theirs] = byteStreamPair();
  const deaf = { ...ours, write: () => Promise.reject(new Error("the connection is closed")) };
  const socket = clientWebSocket(deaf, { clock: new ManualClock(), newMask });
  await theirs.write(encodeWebSocketFrame("ping", new Uint8Array()));
  await theirs.write(encodeWebSocketFrame("binary", bytes("last words")));
  await theirs.write(encodeWebSocketFrame("close", new Uint8Array([3, 232])));
  const got: string[] = [];
  for await (const message of socket.messages) got.push(text(message));
  assert.deepEqual(got, ["last words"]);
});

test("a server that answers no ping for long is given up", async () => {
  const clock = new ManualClock();
  const [ours] = byteStreamPair();
  const socket = clientWebSocket(ours, { clock, newMask });
  const reading = (async () => {
    for await (const _ of socket.messages);
  })();
  const failed = assert.rejects(reading, /said nothing for 61 s/);
  for (let i = 0; i < 14; i++) await clock.advance(5000);
  await failed;
});
