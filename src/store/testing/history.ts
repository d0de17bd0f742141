// Clients that do what they like to a store, and a record of what they did and saw.
import type { Random } from "#base/random.ts";
import { type Change, Conflict, type Entry, type Revision, type StoreEngine, Unavailable } from "../engine.ts";
import type { HistoryOperation, HistoryOutcome, Seen } from "./linearizability.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

const seen = (entry: Entry | undefined): Seen | undefined =>
  entry && { value: decoder.decode(entry.value), created: entry.created, modified: entry.modified };

/** Calls engines, and remembers every call with its outcome and its place in the order of events. */
export class Recorder {
  readonly operations: HistoryOperation[] = [];
  #events = 0;

  put(engine: StoreEngine, key: string, value: string, expected: Revision): Promise<HistoryOutcome> {
    return this.#record({ kind: "put", key, value, expected }, async () => {
      const { modified, created } = await engine.put(key, encoder.encode(value), expected);
      return { is: "written", revision: modified, created };
    });
  }

  delete(engine: StoreEngine, key: string, expected: Revision): Promise<HistoryOutcome> {
    return this.#record({ kind: "delete", key, expected }, async () => {
      return { is: "written", revision: await engine.delete(key, expected) };
    });
  }

  get(engine: StoreEngine, key: string): Promise<HistoryOutcome> {
    return this.#record({ kind: "get", key }, async () => ({ is: "found", present: seen(await engine.get(key)) }));
  }

  async #record(
    operation: Pick<HistoryOperation, "kind" | "key" | "value" | "expected">,
    run: () => Promise<HistoryOutcome>,
  ): Promise<HistoryOutcome> {
    const called = ++this.#events;
    let outcome: HistoryOutcome;
    try {
      outcome = await run();
    } catch (error) {
      if (error instanceof Conflict) outcome = { is: "conflict", present: seen(error.present) };
      else if (error instanceof Unavailable) outcome = { is: "unknown" };
      else throw error;
    }
    this.operations.push({ ...operation, called, returned: ++this.#events, outcome });
    return outcome;
  }
}

export interface HistoryClient {
  readonly engine: StoreEngine;
  readonly name: string;
  readonly keys: readonly string[];
  readonly random: Random;
}

/** One random operation after the other, each on what the last one saw of its key, while `isOn` says so. */
export async function runClient(recorder: Recorder, client: HistoryClient, isOn: () => boolean): Promise<void> {
  const { engine, name, keys, random } = client;
  const known = new Map<string, Revision>();
  for (let i = 0; isOn(); i++) {
    const key = keys[random.below(keys.length)] ?? "";
    const expected = known.get(key) ?? 0;
    const choice = random.next();
    if (choice < 0.55) learn(key, await recorder.put(engine, key, `${name}.${i}`, expected));
    else if (choice < 0.7) learn(key, await recorder.delete(engine, key, expected), true);
    else learn(key, await recorder.get(engine, key));
  }

  function learn(key: string, outcome: HistoryOutcome, isDelete = false): void {
    if (outcome.is === "written") known.set(key, isDelete ? 0 : outcome.revision);
    else if (outcome.is !== "unknown") known.set(key, outcome.present?.modified ?? 0);
  }
}

/** How a watcher's changes differ from what the clients did, in a sentence; undefined if they do not. */
export function watchViolation(
  operations: readonly HistoryOperation[],
  changes: readonly Change[],
): string | undefined {
  const unknown = operations.filter(({ outcome }) => outcome.is === "unknown");
  const unknownPuts = new Set(unknown.map(({ key, value }) => `${key}=${value}`));
  const unknownDeletes = new Set(
    unknown.filter(({ kind }) => kind === "delete").map(({ key, expected }) => `${key}@${expected}`),
  );
  const written = new Map<Revision, HistoryOperation>();
  for (const operation of operations)
    if (operation.outcome.is === "written") written.set(operation.outcome.revision, operation);

  const state = new Map<string, Revision>();
  let last: Revision = 0;
  for (const { type, entry, previous } of changes) {
    const { key, modified } = entry;
    const value = decoder.decode(entry.value);
    const what = `${type} ${key}=${JSON.stringify(value)}@${modified}`;
    if (modified <= last) return `${what} comes after revision ${last}`;
    last = modified;
    const operation = written.get(modified);
    const isUnknown =
      type === "put" ? unknownPuts.has(`${key}=${value}`) : unknownDeletes.has(`${key}@${previous?.modified}`);
    if (!operation && !isUnknown) return `${what}: nobody did that`;
    if (operation && (operation.key !== key || operation.kind !== type || (operation.value ?? "") !== value))
      return `${what}: at that revision was ${operation.kind} ${operation.key}=${operation.value}`;
    written.delete(modified);
    if ((previous?.modified ?? 0) !== (state.get(key) ?? 0))
      return `${what}: before it was revision ${previous?.modified}, but the watcher last saw ${state.get(key)}`;
    if (type === "put") state.set(key, modified);
    else state.delete(key);
  }
  const missing = written.entries().next().value;
  return missing && `${missing[1].kind} ${missing[1].key} at revision ${missing[0]} is missing`;
}
