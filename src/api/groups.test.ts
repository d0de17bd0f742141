// Whatever a client sends that decodes: defaults settle at once, and no rule, cell or conversion trips over it.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyDefaults } from "#schema/defaults.ts";
import { type AnyKind, problemText } from "#schema/index.ts";
import { tableOfObject } from "#schema/table.ts";
import { arbitraryObject } from "#schema/testing/arbitrary.ts";
import { validateObject, validateStatus } from "#schema/validate.ts";
import { catalog } from "./catalog.ts";

type Json = Record<string, unknown>;
const draw = (kind: AnyKind): fc.Arbitrary<Json> =>
  (arbitraryObject(kind, { depth: 6 }) as fc.Arbitrary<Json>).map((object) => applyDefaults(kind, object));
const runs = { numRuns: 25 };

for (const kind of catalog.filter(({ group }) => group !== "")) {
  const name = `${kind.apiVersion} ${kind.kind}`;

  test(`${name}: defaults of defaults change nothing`, () => {
    fc.assert(
      fc.property(draw(kind), (object) => {
        assert.deepEqual(applyDefaults(kind, structuredClone(object)), object);
      }),
      runs,
    );
  });

  test(`${name}: any object is judged, created, updated and shown without an accident`, () => {
    fc.assert(
      fc.property(draw(kind), draw(kind), (object, old) => {
        const problems = [
          ...validateObject(kind, object),
          ...validateObject(kind, object, old),
          ...(kind.stored === false ? [] : validateStatus(kind, object, old)),
        ];
        for (const problem of problems) assert.equal(typeof problemText(problem), "string");
        tableOfObject(kind, object as never, { now: 0 });
        for (const read of Object.values(kind.selectableFields ?? {}))
          assert.equal(typeof read(object as never), "string");
      }),
      runs,
    );
  });

  const { convert } = kind;
  if (convert)
    test(`${name}: what came from the stored version goes there and comes back`, () => {
      const trip = (object: Json): Json => {
        const stored = applyDefaults(convert.to(), structuredClone(convert.toStored(object as never)) as Json);
        return applyDefaults(kind, structuredClone(convert.fromStored(stored)) as Json);
      };
      fc.assert(
        fc.property(draw(kind), (object) => {
          const once = trip(object);
          assert.deepEqual(trip(once), once);
        }),
        { numRuns: 200 },
      );
    });
}
