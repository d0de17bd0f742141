// The same object in other versions of its kind. Each manager's set names fields as its own version does.
import type { AnyKind } from "../kind.ts";
import type { TypedValue } from "./compare.ts";
import { shapeOf } from "./declared.ts";
import type { ApplyShape } from "./shape.ts";
import { isMap, type JsonMap } from "./value.ts";

export interface VersionConverter {
  /** Undefined where there is no such version (any more). */
  shape(apiVersion: string): ApplyShape | undefined;
  /** The object in that version; undefined where there is none. */
  convert(typed: TypedValue, apiVersion: string): TypedValue | undefined;
}

/** `kinds` are all served versions of one kind. */
export function versionsOf(kinds: readonly AnyKind[]): VersionConverter {
  const find = (apiVersion: unknown) => kinds.find((kind) => kind.apiVersion === apiVersion);
  const shape = (apiVersion: string) => {
    const kind = find(apiVersion);
    return kind && shapeOf(kind);
  };
  const convert = (typed: TypedValue, apiVersion: string): TypedValue | undefined => {
    if (!isMap(typed.value) || typed.value.apiVersion === apiVersion) return typed;
    const from = find(typed.value.apiVersion);
    const to = find(apiVersion);
    return from && to && { shape: shapeOf(to), value: converted(from, to, typed.value) };
  };
  return { shape, convert };
}

function converted(from: AnyKind, to: AnyKind, object: JsonMap): JsonMap {
  const whole = from.model.completed(object);
  const stored = from.convert ? from.convert.toStored(whole as any) : whole;
  const out = to.convert ? to.convert.fromStored(stored) : stored;
  return { ...out, apiVersion: to.apiVersion, kind: to.kind };
}
