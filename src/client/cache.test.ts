import assert from "node:assert/strict";
import { test } from "node:test";
import { Cache } from "./cache.ts";

interface Thing {
  readonly metadata: { readonly name: string };
  readonly tags: readonly string[];
}

const thing = (name: string, ...tags: readonly string[]): Thing => ({ metadata: { name }, tags });
const byTag = ({ tags }: Thing): readonly string[] => tags;

test("an object is found by the values it has now, and not by those it had", () => {
  const cache = new Cache<Thing>();
  cache.set("a", thing("a", "x", "y"));
  cache.set("b", thing("b", "y"));
  const found = () => ["x", "y", "z"].map((tag) => cache.by(byTag, tag).map(({ metadata }) => metadata.name));
  assert.deepEqual(found(), [["a"], ["a", "b"], []]);
  const next = thing("a", "y", "z");
  assert.deepEqual(cache.set("a", next), thing("a", "x", "y"));
  assert.deepEqual(found(), [[], ["a", "b"], ["a"]]);
  assert.equal(cache.by(byTag, "y")[0], next);
  assert.equal(cache.count(byTag, "x"), 0);
  assert.equal(cache.delete("a"), next);
  assert.deepEqual(found(), [[], ["b"], []]);
  assert.equal(cache.size, 1);
});
