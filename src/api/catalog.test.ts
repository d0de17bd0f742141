// Laws that hold for every kind of the catalog.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeText, decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { arbitraryObject } from "#schema/testing/arbitrary.ts";
import { validateObject } from "#schema/validate.ts";
import { catalog } from "./catalog.ts";

for (const kind of catalog) {
  const name = `${kind.apiVersion} ${kind.kind}`;
  const objects = arbitraryObject(kind);

  test(`${name}: decoding what was encoded changes nothing`, () => {
    fc.assert(
      fc.property(objects, (drawn) => {
        const once = decodeText(kind, JSON.stringify(drawn));
        assert.deepEqual(once.strictErrors, []);
        const text = JSON.stringify(once.object);
        assert.equal(JSON.stringify(decodeText(kind, text).object), text);
      }),
      { numRuns: 60 },
    );
  });

  test(`${name}: defaulting twice is defaulting once`, () => {
    fc.assert(
      fc.property(objects, (drawn) => {
        const once = applyDefaults(kind, decodeValue(kind, structuredClone(drawn)).object);
        const text = JSON.stringify(once);
        assert.equal(JSON.stringify(applyDefaults(kind, once)), text);
        assert.equal(JSON.stringify(applyDefaults(kind, decodeText(kind, text).object)), text);
      }),
      { numRuns: 60 },
    );
  });

  test(`${name}: validation answers for any object, and changes none`, () => {
    fc.assert(
      fc.property(objects, objects, (drawn, other) => {
        const [object, old] = [drawn, other].map((one) =>
          applyDefaults(kind, decodeValue(kind, structuredClone(one)).object),
        );
        const text = JSON.stringify([object, old]);
        for (const problem of [...validateObject(kind, object!), ...validateObject(kind, object!, old)])
          assert.match(problem.field, /^[\w$]|^$/); // what follows may hold a key of any text
        assert.equal(JSON.stringify([object, old]), text);
      }),
      { numRuns: 40 },
    );
  });
}
