// The same object in other versions of its kind. Each manager's set names fields as its own version does.
import type { StepwiseWork } from "#base/breathe.ts";
import type { AnyKind, PeerVersions } from "../kind.ts";
import type { TypedValue } from "./compare.ts";
import { shapeOf } from "./declared.ts";
import type { ApplyShape } from "./shape.ts";
import { isMap, type JsonMap } from "./value.ts";

export interface VersionConverter {
  /** Undefined where there is no such version (any more). */
  shape(apiVersion: string): ApplyShape | undefined;
  /** The object in that version; undefined where there is none. Has to wait where another program converts. */
  convert(typed: TypedValue, apiVersion: string): StepwiseWork<TypedValue | undefined>;
}

/** `kinds` are all served versions of one kind; `identity` is the metadata of the object that is written, which parts of it may lack. */
export function versionsOf(kinds: readonly AnyKind[], identity: unknown): VersionConverter {
  const find = (apiVersion: unknown) => kinds.find((kind) => kind.apiVersion === apiVersion);
  const shape = (apiVersion: string) => {
    const kind = find(apiVersion);
    return kind && shapeOf(kind);
  };
  function* convert(typed: TypedValue, apiVersion: string): StepwiseWork<TypedValue | undefined> {
    if (!isMap(typed.value) || typed.value.apiVersion === apiVersion) return typed;
    const from = find(typed.value.apiVersion);
    const to = find(apiVersion);
    if (!from || !to) return undefined;
    // What has no name yet has no fields yet, either.
    const isRemote = to.peers?.isRemote && isMap(identity) && identity.name !== undefined;
    const value = isRemote
      ? yield* convertedByOthers(to.peers, typed.value, identity)
      : converted(from, to, typed.value);
    return { shape: shapeOf(to), value };
  }
  return { shape, convert };
}

function converted(from: AnyKind, to: AnyKind, object: JsonMap): JsonMap {
  const whole = from.model.completed(object);
  const stored = from.convert ? from.convert.toStored(whole as any) : whole;
  const out = to.convert ? to.convert.fromStored(stored) : stored;
  return { ...out, apiVersion: to.apiVersion, kind: to.kind };
}

/** Whoever converts must be told which object it is, and may change its labels and annotations alone of its metadata. */
function* convertedByOthers(peers: PeerVersions, object: JsonMap, identity: JsonMap): StepwiseWork<JsonMap> {
  const own = isMap(object.metadata) ? object.metadata : {};
  const { name, namespace, uid } = identity;
  const { managedFields: _, ...shown } = own;
  const metadata = { ...shown, name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) };
  const answers = (yield Promise.resolve(peers.adopt([{ ...object, metadata }]))) as readonly JsonMap[];
  const { metadata: answered, ...rest } = answers[0] ?? {};
  if (!isMap(object.metadata)) return rest;
  const { labels, annotations } = isMap(answered) ? answered : {};
  const { labels: _labels, annotations: _annotations, ...kept } = own;
  return {
    ...rest,
    metadata: { ...kept, ...(labels !== undefined && { labels }), ...(annotations !== undefined && { annotations }) },
  };
}
