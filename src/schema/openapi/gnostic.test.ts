import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeDocumentV2 } from "./gnostic.ts";

/** Reads a message into [number, value] pairs: a varint as number, a double as number, bytes as they are. */
function fields(bytes: Uint8Array): [number, number | Uint8Array][] {
  const found: [number, number | Uint8Array][] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag & 7;
    if (wire === 0) found.push([tag >> 3, varint()]);
    else if (wire === 1) {
      found.push([tag >> 3, new DataView(bytes.buffer, bytes.byteOffset + at, 8).getFloat64(0, true)]);
      at += 8;
    } else {
      const length = varint();
      found.push([tag >> 3, bytes.subarray(at, at + length)]);
      at += length;
    }
  }
  return found;
}

/** What lies at a path of field numbers, all of them where a field is repeated. */
function at(bytes: Uint8Array, ...path: readonly number[]): (number | string)[] {
  const [first, ...rest] = path;
  return fields(bytes)
    .filter(([number]) => number === first)
    .flatMap(([, value]) => {
      if (rest.length > 0) return at(value as Uint8Array, ...rest);
      return [typeof value === "number" ? value : new TextDecoder().decode(value)];
    });
}

const document = await encodeDocumentV2({
  swagger: "2.0",
  info: { title: "Knärr", version: "v1" },
  paths: {
    "/a": {
      get: {
        operationId: "readA",
        tags: ["x", "y"],
        parameters: [
          { $ref: "#/parameters/p" },
          { in: "query", name: "dryRun", type: "string", uniqueItems: true },
          { in: "body", name: "body", required: true, schema: { $ref: "#/definitions/A" } },
        ],
        responses: { 200: { description: "OK", schema: { type: "string" } }, 401: { description: "No" } },
        "x-kubernetes-action": "get",
      },
    },
    "/b": {},
  },
  definitions: {
    A: {
      type: "object",
      description: "z".repeat(200_000),
      maximum: 1.5,
      minItems: -3,
      maxItems: 2 ** 40,
      properties: { one: { items: { type: "string" }, type: "array", enum: ["p", 1] } },
      additionalProperties: false,
    },
  },
  parameters: { p: { in: "path", name: "name", required: true, type: "string" } },
  securityDefinitions: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
  security: [{ BearerToken: [] }],
});

test("the document is written with gnostic's numbers, lists in their order", () => {
  assert.deepEqual(at(document, 1), ["2.0"]);
  assert.deepEqual(at(document, 2, 1), ["Knärr"]);
  assert.deepEqual(at(document, 8, 2, 1), ["/a", "/b"]);
  assert.deepEqual(at(document, 10, 1, 2, 2, 4, 4), ["name"]);
  assert.deepEqual(at(document, 13, 1, 2, 2, 2), ["authorization"]);
  assert.deepEqual(at(document, 12, 1, 1), ["BearerToken"]);
});

test("an operation carries its parameters, responses and extensions", () => {
  const operation = [8, 2, 2, 2] as const;
  assert.deepEqual(at(document, ...operation, 5), ["readA"]);
  assert.deepEqual(at(document, ...operation, 1), ["x", "y"]);
  assert.deepEqual(at(document, ...operation, 8, 2, 1), ["#/parameters/p"]);
  assert.deepEqual(at(document, ...operation, 8, 1, 2, 3, 4), ["dryRun"]);
  assert.deepEqual(at(document, ...operation, 8, 1, 2, 3, 20), [1]);
  assert.deepEqual(at(document, ...operation, 8, 1, 1, 5, 1), ["#/definitions/A"]);
  assert.deepEqual(at(document, ...operation, 9, 1, 1), ["200", "401"]);
  assert.deepEqual(at(document, ...operation, 9, 1, 2, 1, 2, 1, 22, 1), ["string"]);
  assert.deepEqual(at(document, ...operation, 13, 1), ["x-kubernetes-action"]);
  assert.deepEqual(at(document, ...operation, 13, 2, 2), ['"get"']);
});

test("numbers of all sizes, long texts and a false choice come through", () => {
  const schema = [9, 1, 2] as const;
  assert.deepEqual(
    at(document, ...schema, 4).map((text) => String(text).length),
    [200_000],
  );
  assert.deepEqual(at(document, ...schema, 7), [1.5]);
  assert.deepEqual(at(document, ...schema, 15), [-3]);
  assert.deepEqual(at(document, ...schema, 14), [2 ** 40]);
  assert.deepEqual(at(document, ...schema, 21, 2), [0]);
  assert.deepEqual(at(document, ...schema, 25, 1, 2, 20, 2), ['"p"', "1"]);
  assert.deepEqual(at(document, ...schema, 25, 1, 2, 23, 1, 22, 1), ["string"]);
});
