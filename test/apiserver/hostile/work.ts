// Counts work instead of measuring time: how often each block of our sources runs, as V8 counts it for coverage, and how much is
// handed to those functions of the language that go through a list, a text or an object by themselves. The counts are the same on a
// busy machine as on an idle one.
import { Session } from "node:inspector/promises";

export interface Work {
  /** How much was handed to functions of the language, by their name. */
  readonly natives: ReadonlyMap<string, number>;
  /** How often the blocks of each function ran, by the place of the function. The first is the function as a whole. */
  readonly functions: ReadonlyMap<string, readonly Block[]>;
}

interface Block {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

export class WorkCounter implements AsyncDisposable {
  readonly #session = new Session();
  readonly #natives = new Natives();

  async start(): Promise<this> {
    this.#session.connect();
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    return this;
  }

  /** The work that is done for this. */
  async of(run: () => Promise<unknown>): Promise<Work> {
    await this.#session.post("Profiler.takePreciseCoverage");
    this.#natives.begin();
    try {
      await run();
    } finally {
      this.#natives.end();
    }
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    const functions = new Map<string, readonly Block[]>();
    for (const { url, functions: found } of result) {
      const file = /\/(src\/.*\.ts)$/.exec(url)?.[1];
      if (file === undefined) continue;
      for (const { functionName, ranges } of found)
        functions.set(`${file} ${functionName || "(anonymous)"} at ${ranges[0]?.startOffset}`, ranges);
    }
    return { natives: new Map(this.#natives.counts), functions };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }
}

/**
 * What grew more than the input did, which was doubled: what is linear doubles, what is sorted grows a little more, what is quadratic
 * grows four times. Small caches that are full with the larger input make texts be read anew.
 */
export function superlinear(once: Work, twice: Work, least: number): readonly string[] {
  const grown: string[] = [];
  const compare = (place: string, before: number, after: number, most: number) => {
    // V8 begins to count a function when it has run for a while; of one that it did not count before nothing can be said.
    if (before > 0 && after > least && after > most * before) grown.push(`${place}: ${before} → ${after}`);
  };
  for (const [name, count] of twice.natives)
    compare(name, once.natives.get(name) ?? 0, count, /^(RegExp|String|JSON)\./.test(name) ? 3.8 : 3);
  for (const [place, blocks] of twice.functions)
    for (const { startOffset, count } of blocks)
      compare(`${place}, block at ${startOffset}`, countAt(once.functions.get(place) ?? [], startOffset), count, 3);
  return grown;
}

/** How often what is at the offset ran. Blocks that run as often as what is around them are not told apart from it. */
const countAt = (blocks: readonly Block[], offset: number): number =>
  blocks.findLast(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset)?.count ?? 0;

type Counted = (this: unknown, ...args: unknown[]) => unknown;
type Holder = Record<string, Counted>;
type Size = (self: unknown, args: readonly unknown[]) => number;
const lengthOf = (value: unknown): number => (value as { readonly length?: number } | undefined)?.length ?? 0;

/** Functions of the language whose work grows with what they are given, and how much that is. */
const counted: readonly {
  readonly of: string;
  readonly holder: object;
  readonly names: string;
  readonly size: Size;
}[] = [
  {
    of: "Array",
    holder: Array.prototype,
    names: "includes indexOf lastIndexOf concat join toSorted toReversed shift unshift",
    size: lengthOf,
  },
  // What is copied, or moved behind the place.
  {
    of: "Array",
    holder: Array.prototype,
    names: "slice splice",
    size: (self, [start]) => behind(lengthOf(self), start),
  },
  { of: "String", holder: String.prototype, names: "split replace replaceAll toLowerCase", size: lengthOf },
  { of: "RegExp", holder: RegExp.prototype, names: "exec test", size: matched },
  { of: "JSON", holder: JSON, names: "parse", size: (_self, [text]) => lengthOf(text) },
];

const behind = (length: number, start: unknown): number =>
  typeof start !== "number" ? length : start < 0 ? Math.min(length, -start) : Math.max(0, length - start);

/** An expression that goes on from where it was takes the next piece of a text, not all of it. */
function matched(self: unknown, [text]: readonly unknown[]): number {
  const { global, sticky } = self as RegExp;
  return global || sticky ? 1 : lengthOf(text);
}

class Natives {
  readonly counts = new Map<string, number>();
  readonly #undo: (() => void)[] = [];

  begin(): void {
    this.counts.clear();
    for (const { of, holder, names, size } of counted)
      for (const name of names.split(" "))
        this.#wrap(holder as Holder, name, (original, note) => {
          return function (this: unknown, ...args: unknown[]): unknown {
            note(`${of}.${name}`, size(this, args));
            return original.apply(this, args);
          };
        });
    for (const name of ["keys", "values", "entries"])
      this.#wrap(Object as unknown as Holder, name, (original, note) => (...args) => {
        const result = original.apply(Object, args);
        note(`Object.${name}`, lengthOf(result));
        return result;
      });
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #wrap(
    holder: Holder,
    name: string,
    wrap: (original: Counted, note: (label: string, size: number) => void) => Counted,
  ) {
    const original = holder[name] as Counted;
    const put = (value: Counted) =>
      Object.defineProperty(holder, name, { value, configurable: true, writable: true, enumerable: false });
    put(wrap(original, (label, size) => this.counts.set(label, (this.counts.get(label) ?? 0) + size)));
    this.#undo.push(() => put(original));
  }
}
