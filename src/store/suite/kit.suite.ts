// What the parts of the suite share.
import { type TestContext, test } from "node:test";
import type { Change, Entry, StoreEngine } from "../engine.ts";

/** A fresh, empty store for one test. */
export interface EngineUnderTest {
  readonly engine: StoreEngine;
  /** Lets time pass for the store: moves its clock, or waits. */
  pass(seconds: number): Promise<void>;
  /** Whether `pass` moves a clock by exactly that time, so that "not yet" can be tested. */
  readonly exactTime: boolean;
  /** Closes the store and opens it again; absent where nothing is kept. */
  reopen?(): Promise<StoreEngine>;
  /** Removes what the test made, after the engine was closed. */
  end?(): Promise<void>;
}

/** One test, with a store of its own. */
export type SuiteCheck = (title: string, body: (under: EngineUnderTest, t: TestContext) => Promise<void>) => void;

export const checkWith =
  (open: () => Promise<EngineUnderTest>): SuiteCheck =>
  (title, body) => {
    test(title, { timeout: 120_000 }, async (t) => {
      const { reopen, ...under } = await open();
      let { engine } = under;
      t.after(async () => {
        await engine.close();
        await under.end?.();
      });
      const reopenAndRemember = async () => (engine = (await reopen?.()) ?? engine);
      await body({ ...under, ...(reopen && { reopen: reopenAndRemember }) }, t);
    });
  };

export const text = (value: string) => new TextEncoder().encode(value);
export const read = (entry: Entry | undefined) => entry && new TextDecoder().decode(entry.value);
export const keysOf = (entries: readonly Entry[]) => entries.map(({ key }) => key);
export const never = new AbortController().signal;

/** A change in a line: `+ /a@5=x (was 3)`. */
export const show = ({ type, entry, previous }: Change) =>
  `${type === "put" ? "+" : "-"} ${entry.key}@${entry.modified}=${read(entry)}${previous ? ` (was ${previous.modified}=${read(previous)})` : ""}`;
