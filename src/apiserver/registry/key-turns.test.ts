import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import type { ApiObject } from "#schema/object.ts";
import { StoredForm } from "../stored.ts";
import { KeyTurns } from "./key-turns.ts";

const form = new StoredForm(ConfigMap);
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "x" } } as ApiObject;
const written = (revision: number) => form.shown("/a", object, revision);

test("writers of one key go one after the other, in the order in which they came; those of another key do not wait", async () => {
  const turns = new KeyTurns();
  const { promise, resolve } = Promise.withResolvers<void>();
  const order: string[] = [];
  const writer = (key: string, name: string, until?: Promise<void>) =>
    turns.run(key, async () => {
      order.push(`${name} begins`);
      await until;
      order.push(`${name} ends`);
    });
  const all = [writer("/a", "first", promise), writer("/a", "second"), writer("/b", "other")];
  await all[2];
  assert.deepEqual(order, ["first begins", "other begins", "other ends"]);
  resolve();
  await Promise.all(all);
  assert.deepEqual(order.slice(3), ["first ends", "second begins", "second ends"]);
});

test("the next writer builds on a write that was handed over, and finds no tip once it is durable", async () => {
  const turns = new KeyTurns();
  const { promise: durable, resolve } = Promise.withResolvers<void>();
  const first = turns.run("/a", (turn) => turn.handOver({ stored: written(8), durable }));
  const second = await turns.run("/a", async ({ tip }) => tip?.stored.revision);
  assert.equal(second, 8);
  resolve();
  await first;
  assert.equal(await turns.run("/a", async ({ tip }) => tip), undefined);
});

test("a newer tip stays when an older one becomes durable, and a tip that fails is gone", async () => {
  const turns = new KeyTurns();
  const [older, newer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = turns.run("/a", (turn) => turn.handOver({ stored: written(8), durable: older.promise }));
  const second = turns.run("/a", (turn) => turn.handOver({ stored: written(9), durable: newer.promise }));
  older.resolve();
  await first;
  assert.equal(await turns.run("/a", async ({ tip }) => tip?.stored.revision), 9);
  newer.reject(new Error("the disk is full"));
  await assert.rejects(second, { message: "the disk is full" });
  assert.equal(await turns.run("/a", async ({ tip }) => tip), undefined);
});

test("a writer that fails lets the next one begin", async () => {
  const turns = new KeyTurns();
  const failed = turns.run("/a", async () => {
    throw new Error("refused");
  });
  const next = turns.run("/a", async () => "done");
  await assert.rejects(failed, { message: "refused" });
  assert.equal(await next, "done");
});
