import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { spdyDictionary } from "./spdy-dictionary.ts";
import {
  decodeSpdyHeaders,
  encodeSpdyFrame,
  encodeSpdyHeaders,
  SpdyError,
  type SpdyFrame,
  SpdyFrameReader,
} from "./spdy-frames.ts";

const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
const bytes = (text: string) => Uint8Array.from(Buffer.from(text));
const block = bytes("zlib");

const golden: readonly [SpdyFrame, string][] = [
  [
    { type: "synStream", streamId: 1, priority: 2, fin: false, unidirectional: false, block },
    "80030001 0000000e 00000001 00000000 4000 7a6c6962",
  ],
  [
    { type: "synStream", streamId: 3, priority: 0, fin: true, unidirectional: true, block },
    "80030001 0300000e 00000003 00000000 0000 7a6c6962",
  ],
  [{ type: "synReply", streamId: 1, fin: false, block }, "80030002 00000008 00000001 7a6c6962"],
  [{ type: "headers", streamId: 1, fin: true, block }, "80030008 01000008 00000001 7a6c6962"],
  [{ type: "rstStream", streamId: 5, status: 5 }, "80030003 00000008 00000005 00000005"],
  [{ type: "settings", values: new Map([[7, 65536]]) }, "80030004 0000000c 00000001 00000007 00010000"],
  [{ type: "ping", id: 1 }, "80030006 00000004 00000001"],
  [{ type: "goAway", lastStreamId: 7, status: 0 }, "80030007 00000008 00000007 00000000"],
  [{ type: "windowUpdate", streamId: 1, delta: 1024 }, "80030009 00000008 00000001 00000400"],
  [{ type: "data", streamId: 1, fin: false, data: bytes("hi") }, "00000001 00000002 6869"],
  [{ type: "data", streamId: 1, fin: true, data: bytes("") }, "00000001 01000000"],
];

test("every frame has the bytes of SPDY/3.1", () => {
  for (const [frame, text] of golden) {
    assert.deepEqual(encodeSpdyFrame(frame), hex(text), frame.type);
    assert.deepEqual([...new SpdyFrameReader().feed(hex(text))], [frame]);
  }
});

test("frames come out the same however their bytes are cut, data in parts", () => {
  const wire = Buffer.concat(golden.map(([frame]) => encodeSpdyFrame(frame)));
  for (let step = 1; step <= wire.length; step++) {
    const reader = new SpdyFrameReader();
    const seen: SpdyFrame[] = [];
    for (let at = 0; at < wire.length; at += step) seen.push(...reader.feed(wire.subarray(at, at + step)));
    const control = (frames: readonly SpdyFrame[]) => frames.filter(({ type }) => type !== "data");
    const data = (frames: readonly SpdyFrame[]) =>
      frames
        .map((frame) => (frame.type === "data" ? Buffer.from(frame.data).toString() + (frame.fin ? "." : "") : ""))
        .join("");
    assert.deepEqual(control(seen), control(golden.map(([frame]) => frame)));
    assert.equal(data(seen), "hi.");
  }
});

test("what is not SPDY/3.1 is refused, what is not known passed over", () => {
  const table: readonly [string, RegExp][] = [
    ["80020001 00000000", /version 2 of SPDY is not 3/],
    ["00000000 00000001 61", /data for stream 0/],
    ["80030001 00ffffff", /16777215 bytes is too large/],
    ["80030006 00000000", /has 0 bytes, it needs 4/],
    ["80030004 00000004 7fffffff", /has 4 bytes, it needs/],
  ];
  for (const [text, message] of table)
    assert.throws(() => [...new SpdyFrameReader().feed(hex(text))], { name: "SpdyError", message });
  assert.deepEqual([...new SpdyFrameReader().feed(hex("800300ff 00000002 0000"))], []);
});

test("header blocks come back as they were, in lower case", () => {
  assert.deepEqual(
    { ...decodeSpdyHeaders(encodeSpdyHeaders({ streamType: "stdin", port: "80" })) },
    { streamtype: "stdin", port: "80" },
  );
  assert.deepEqual({ ...decodeSpdyHeaders(hex("00000001 00000001 61 00000003 620063")) }, { a: "b" });
  for (const text of ["", "00000001", "000000ff", "00000001 ffffffff 61", "00000001 00000000 00000000"])
    assert.throws(() => decodeSpdyHeaders(hex(text)), SpdyError, text);
});

test("the dictionary is the one of SPDY/3", () => {
  let [a, b] = [1, 0];
  for (const byte of spdyDictionary()) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  assert.equal(((b << 16) | a) >>> 0, 0xe3c6a7c2);
});

test("no bytes make the reader or the headers fail otherwise", () => {
  const pick = fc.array(fc.nat(golden.length - 1), { maxLength: 6 });
  fc.assert(
    fc.property(
      pick,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
      fc.uint8Array({ maxLength: 40 }),
      (frames, changes, junk) => {
        const wire = Buffer.concat([...frames.map((i) => encodeSpdyFrame(golden[i]![0])), junk]);
        for (const [at, value] of changes) if (wire.length > 0) wire[at % wire.length] = value;
        try {
          for (const frame of new SpdyFrameReader().feed(wire)) if ("block" in frame) decodeSpdyHeaders(frame.block);
          decodeSpdyHeaders(wire);
        } catch (error) {
          assert.ok(error instanceof SpdyError, String(error));
        }
      },
    ),
    { numRuns: 10_000 },
  );
});
