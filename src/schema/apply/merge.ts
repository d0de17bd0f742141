// The live object with an applied configuration laid over it. Nothing is taken away here; that is pruning. Items of lists
// keep their order where they can: those that both sides have come in the order of the configuration, and the others stay
// next to the neighbours they had.
import { own, setOwn } from "#base/collections.ts";
import { entryShape, isListShape, partOf } from "./compare.ts";
import { type ApplyListShape, type ApplyShape, itemElement, type MapShape } from "./shape.ts";
import { isEmptyMap, isMap, type JsonMap } from "./value.ts";

/** Parts are shared with both sides. Undefined when nothing is left. */
export function merge(shape: ApplyShape, live: unknown, applied: unknown): unknown {
  if (applied === undefined && live === undefined) return undefined;
  const part = applied === undefined ? partOf(shape, live) : partOf(shape, applied);
  if (part === undefined || part === "scalar" || part.atomic) return pick(live, applied);
  if (isListShape(part)) {
    const left = Array.isArray(live) ? live : [];
    const right = Array.isArray(applied) ? applied : [];
    if (left.length === 0 && right.length === 0) return pick(live, applied);
    return mergeItems(part, left, right);
  }
  const left = isMap(live) ? live : {};
  const right = isMap(applied) ? applied : {};
  if (isEmptyMap(left) && isEmptyMap(right)) return pick(live, applied);
  return mergeEntries(part, left, right);
}

const pick = (live: unknown, applied: unknown): unknown => (applied === undefined ? live : applied);

function mergeEntries(map: MapShape, live: JsonMap, applied: JsonMap): unknown {
  const out: Record<string, unknown> = {};
  const visit = (key: string) => {
    const entry = entryShape(map, key);
    const merged = merge(entry?.shape ?? {}, own(live, key), own(applied, key));
    if (merged !== undefined) setOwn(out, key, merged);
  };
  for (const key of Object.keys(live)) visit(key);
  for (const key of Object.keys(applied)) if (own(live, key) === undefined) visit(key);
  return isEmptyMap(out) ? undefined : out;
}

function mergeItems(list: ApplyListShape, live: readonly unknown[], applied: readonly unknown[]): unknown {
  const liveElements = live.map((item) => itemElement(list, item));
  const liveItems = new Map<string, unknown>();
  // Items of the live object that cannot be told apart are not merged with the applied one, which takes their place.
  for (const [i, element] of liveElements.entries()) liveItems.set(element, liveItems.has(element) ? null : live[i]);
  const appliedItems = new Map(applied.map((item) => [itemElement(list, item), item]));
  const appliedElements = [...appliedItems.keys()];

  const out: unknown[] = [];
  const done = new Set<string>();
  const take = (element: string, item: unknown) => {
    const merged = merge(list.item, item, appliedItems.get(element));
    if (merged !== undefined) out.push(merged);
  };
  const takeApplied = (element: string) => {
    done.add(element);
    take(element, liveItems.get(element));
  };

  // The items both sides have, in the order of the configuration: the first of them is the one to come next.
  const shared = appliedElements.filter((element) => liveItems.has(element));
  let next = 0;
  for (let l = 0, r = 0; l < live.length || r < appliedElements.length; ) {
    const left = liveElements[l];
    const right = appliedElements[r];
    if (left !== undefined && right !== undefined) {
      if (left === right) {
        takeApplied(left);
        next++;
        l++;
        r++;
        continue;
      }
      if (appliedItems.has(left) && next < shared.length && shared[next] !== left) {
        l++;
        continue;
      }
    }
    if (left !== undefined) {
      if (!appliedItems.has(left)) {
        take(left, live[l]);
        l++;
        continue;
      }
      if (done.has(left)) l++;
    }
    if (right !== undefined) {
      takeApplied(right);
      if (shared[next] === right) next++;
      r++;
    }
  }
  return out.length > 0 ? out : undefined;
}
