import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeWebSocketFrame, WebSocketError, WebSocketFrameReader } from "./websocket-frames.ts";

const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
const read = (bytes: Uint8Array, limit = 1000) => [...new WebSocketFrameReader(limit).feed(bytes)];

/** A frame as a client sends it. */
function masked(first: number, payload: Uint8Array, mask = [1, 2, 3, 4]): Uint8Array {
  const size =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 0xff];
  return Uint8Array.from([first, ...size, ...mask, ...payload.map((byte, i) => byte ^ mask[i & 3]!)]);
}

test("the examples of RFC 6455 are read and written byte by byte", () => {
  const [frame] = read(hex("81 85 37fa213d 7f9f4d5158"));
  assert.deepEqual([frame?.opcode, frame?.fin, Buffer.from(frame!.payload).toString()], ["text", true, "Hello"]);
  assert.deepEqual(encodeWebSocketFrame("text", Buffer.from("Hello")), hex("81 05 48656c6c6f"));
  assert.deepEqual(encodeWebSocketFrame("binary", new Uint8Array(256)).subarray(0, 4), hex("82 7e 0100"));
  assert.deepEqual(
    encodeWebSocketFrame("binary", new Uint8Array(65536)).subarray(0, 10),
    hex("82 7f 0000000000010000"),
  );
});

test("frames come out the same however their bytes are cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }),
      fc.integer({ min: 1, max: 50 }),
      (payloads, step) => {
        const wire = Buffer.concat(payloads.map((payload) => masked(0x82, payload)));
        const reader = new WebSocketFrameReader(1000);
        const seen: string[] = [];
        for (let at = 0; at < wire.length; at += step)
          for (const { payload } of reader.feed(wire.subarray(at, at + step)))
            seen.push(Buffer.from(payload).toString("hex"));
        assert.deepEqual(
          seen,
          payloads.map((payload) => Buffer.from(payload).toString("hex")),
        );
      },
    ),
  );
});

test("what breaks the protocol is refused with the code that says why", () => {
  const table: readonly [string, Uint8Array, number][] = [
    ["unmasked", hex("81 05 48656c6c6f"), 1002],
    ["reserved bit", hex("c1 80 00000000"), 1002],
    ["unknown opcode", hex("83 80 00000000"), 1002],
    ["fragmented ping", hex("09 80 00000000"), 1002],
    ["long ping", hex("89 fe 0100 00000000"), 1002],
    ["too large", hex("82 fe ffff 00000000"), 1009],
    ["far too large", hex("82 ff ffffffffffffffff 00000000"), 1009],
  ];
  for (const [what, bytes, code] of table)
    assert.throws(
      () => read(bytes),
      (error: WebSocketError) => error instanceof WebSocketError && error.code === code,
      what,
    );
});

test("no bytes make the reader fail otherwise or keep more than its limit", () => {
  const frames = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 });
  fc.assert(
    fc.property(frames, fc.nat(), fc.nat(255), fc.uint8Array({ maxLength: 30 }), (payloads, at, value, junk) => {
      const wire = Buffer.concat([...payloads.map((payload) => masked(0x81, payload)), junk]);
      if (wire.length > 0) wire[at % wire.length] = value;
      try {
        for (const { payload } of new WebSocketFrameReader(500).feed(wire)) assert.ok(payload.length <= 500);
      } catch (error) {
        assert.ok(error instanceof WebSocketError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
});
