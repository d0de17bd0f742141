// Every kind of the catalog through protobuf and back.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { catalog } from "#api/catalog.ts";
import { decodeMessage, encodeMessage } from "#schema/protobuf/codec.ts";
import { arbitraryObject } from "#schema/testing/arbitrary.ts";
import { normalized } from "#schema/testing/normalize.ts";

for (const kind of catalog)
  test(`${kind.apiVersion} ${kind.kind} comes back from protobuf as it went in`, () => {
    const { struct } = kind;
    fc.assert(
      fc.property(arbitraryObject(kind), (object) => {
        const bytes = encodeMessage(struct, object);
        const back = decodeMessage(struct, bytes);
        assert.deepEqual(back, normalized(struct, object));
        assert.deepEqual(decodeMessage(struct, encodeMessage(struct, back)), back);
      }),
      { numRuns: 40 },
    );
  });
