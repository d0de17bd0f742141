// Comprehensions: what `all`, `exists`, `map` and the like have become.
import type { Frame, Step } from "./frame.ts";
import type { PlanPart } from "./planner.ts";
import { EvaluationFailure, noSuchOverload } from "./values/failure.ts";
import { ArrayList, GrowingList } from "./values/list.ts";
import { EntryMap } from "./values/map.ts";
import type { CelValue } from "./values/value.ts";

export interface Fold {
  readonly range: Step;
  readonly init: Step;
  readonly condition: PlanPart;
  readonly step: Step;
  readonly result: Step;
  /** Whether nothing but the macro that made this can see the accumulator. */
  readonly isHidden: boolean;
  /** Places of the local variables. */
  readonly accumulator: number;
  readonly variable: number;
  readonly variable2: number | undefined;
}

export function planFold(fold: Fold): Step {
  const { range, init, accumulator, result, isHidden } = fold;
  return (frame) => {
    const over = range(frame);
    const start = init(frame);
    frame.locals[accumulator] = isHidden ? growing(start) : start;
    iterate(fold, frame, over, typeof start === "boolean");
    const value = result(frame);
    return value instanceof GrowingList ? new ArrayList(value.elements) : value;
  };
}

/** An accumulator that nobody else sees may be changed in place. */
function growing(start: CelValue): CelValue {
  if (start instanceof ArrayList && start.size === 0) return new GrowingList();
  return start instanceof EntryMap && start.size === 0 ? new EntryMap() : start;
}

/** `goesOn`: whether a later element can make up for one that failed, as it can for `all` and `exists`. */
function iterate(fold: Fold, frame: Frame, over: CelValue, goesOn: boolean): void {
  if (typeof over !== "object" || over === null || over instanceof Uint8Array) noSuchOverload();
  const isForTwo = fold.variable2 !== undefined;
  if (over.kind === "list") {
    // Without an iterator: a list in an object has a handful of elements, and is gone through for each request.
    for (let i = 0; i < over.size; i++) {
      const element = over.at(i) ?? null;
      if (!(isForTwo ? takes(fold, frame, i, element, goesOn) : takes(fold, frame, element, null, goesOn))) return;
    }
  } else if (over.kind === "map") {
    for (const key of over.keys())
      if (!takes(fold, frame, key, isForTwo ? (over.find(key) ?? null) : null, goesOn)) return;
  } else noSuchOverload();
}

/** One element or key; with two variables an index and its element, or a key and its value. Whether there is to be another. */
function takes(fold: Fold, frame: Frame, first: CelValue, second: CelValue, goesOn: boolean): boolean {
  const { condition, step, accumulator, variable, variable2 } = fold;
  frame.locals[variable] = first;
  if (variable2 !== undefined) frame.locals[variable2] = second;
  if (condition.constant !== true && condition.step(frame) === false) return false;
  try {
    frame.locals[accumulator] = step(frame);
    return true;
  } catch (failure) {
    if (!(failure instanceof EvaluationFailure) || failure.isFinal) throw failure;
    frame.locals[accumulator] = failure;
    return goesOn;
  }
}
