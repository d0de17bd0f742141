import assert from "node:assert/strict";
import { test } from "node:test";
import { DerError, der, derTag } from "./der.ts";
import { parseDistinguishedName } from "./distinguished-name.ts";

const { sequence, set, oid, utf8String, numericString, printableString, t61String, ia5String, bmpString, octetString } =
  derTag;
const named = (tag: number, ...content: readonly number[]): Uint8Array =>
  der(set, der(sequence, der(oid, Uint8Array.of(0x55, 0x04, 0x03)), der(tag, Uint8Array.from(content))));

test("a text is read in its own alphabet, and refused outside of it", () => {
  for (const [expected, tag, ...content] of [
    ["jö", utf8String, 0x6a, 0xc3, 0xb6],
    ["jö", bmpString, 0, 0x6a, 0, 0xf6],
    ["1 2", numericString, 0x31, 0x20, 0x32],
    ["a*", printableString, 0x61, 0x2a],
    ["a@", ia5String, 0x61, 0x40],
    [DerError, utf8String, 0xff],
    [DerError, bmpString, 0x6a],
    [DerError, numericString, 0x61],
    [DerError, printableString, 0x61, 0x40],
    [DerError, ia5String, 0xc3, 0xb6],
    [DerError, t61String, 0x6a, 0xf6],
    [DerError, octetString, 0x61],
  ] as const) {
    const read = () => parseDistinguishedName(named(tag, ...content)).commonName;
    if (typeof expected === "string") assert.equal(read(), expected);
    else assert.throws(read, expected, `${tag}: ${content}`);
  }
});

test("a name that is not whole is refused", () => {
  assert.throws(() => parseDistinguishedName(der(set, der(sequence, der(oid, Uint8Array.of(0x55))))), DerError);
  assert.throws(() => parseDistinguishedName(der(sequence)), DerError);
  assert.deepEqual(parseDistinguishedName(new Uint8Array()), { commonName: "", organizations: [], uids: [] });
});
