import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  exactFieldValue,
  FieldSelectorError,
  fieldMatcher,
  formatFieldSelector,
  parseFieldSelector,
} from "./field-selector.ts";
import { resource } from "./index.ts";

const base = { group: "", version: "v1", plural: "things", scope: "Namespaced", doc: "", fields: {} } as const;
const Plain = resource({ ...base, kind: "Plain" });
const Thing = resource({
  ...base,
  kind: "Thing",
  selectableFields: { "spec.color": (one: any) => one.spec?.color ?? "" },
});

test("text becomes requirements and text again", () => {
  const table: [string, string][] = [
    ["", ""],
    ["a=b", "a=b"],
    ["z=1,a==2", "a=2,z=1"],
    ["a!=b,", "a!=b"],
    ["a=", "a="],
    ["a=b\\,c\\=d\\\\e", "a=b\\,c\\=d\\\\e"],
    ["=b", "=b"],
  ];
  for (const [text, expected] of table) assert.equal(formatFieldSelector(parseFieldSelector(text)), expected, text);
});

test("text that is no field selector is refused in upstream's words", () => {
  const table: [string, string][] = [
    ["a", "invalid selector: 'a'; can't understand 'a'"],
    ["a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
    ["a=b\\", "invalid field selector: invalid escape sequence: \\"],
    ["a=\\x", "invalid field selector: invalid escape sequence: \\x"],
  ];
  for (const [text, message] of table)
    assert.throws(() => parseFieldSelector(text), { name: "FieldSelectorError", message }, text);
});

test("a kind says which fields can be selected by", () => {
  const matches = (text: string, object: object) => fieldMatcher(Thing, parseFieldSelector(text))(object);
  const thing = { metadata: { name: "a", namespace: "n" }, spec: { color: "red" } };
  assert.equal(matches("metadata.name=a,metadata.namespace=n,spec.color=red", thing), true);
  assert.equal(matches("spec.color!=red", thing), false);
  assert.equal(matches("spec.color=", { metadata: {} }), true);
  assert.throws(() => matches("spec.size=1", thing), { message: "field label not supported: spec.size" });
  assert.throws(() => matches("constructor=1", thing), { message: "field label not supported: constructor" });
  assert.throws(() => fieldMatcher(Plain, parseFieldSelector("spec.size=1")), {
    message: '"spec.size" is not a known field selector: only "metadata.name", "metadata.namespace"',
  });
  assert.equal(exactFieldValue(parseFieldSelector("metadata.name=a"), "metadata.name"), "a");
  assert.equal(exactFieldValue(parseFieldSelector("metadata.name!=a"), "metadata.name"), undefined);
});

test("any value survives being escaped", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "\\", ",", "=", "!", "é", "😀") }), (value) => {
      const requirements = [{ field: "a", operator: "=", value }] as const;
      assert.deepEqual(parseFieldSelector(formatFieldSelector(requirements)), requirements);
    }),
  );
});

test("any text is read or refused with a FieldSelectorError", () => {
  const near = fc.string({ unit: fc.constantFrom(..."ab.\\,=!"), maxLength: 20 });
  fc.assert(
    fc.property(fc.oneof(near, fc.string({ unit: "binary" })), (text) => {
      try {
        fieldMatcher(Thing, parseFieldSelector(text));
      } catch (error) {
        assert.ok(error instanceof FieldSelectorError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
});
