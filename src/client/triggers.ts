// What made a controller look at an object: with the object itself, the causes of what it then writes.
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import { causeOf, keyOfObject } from "./object-key.ts";

interface Trigger {
  readonly kind: AnyKind;
  readonly object: unknown;
}

/** Of each key the newest few: a service with a thousand pods must not carry a thousand causes. */
const most = 4;

export class Triggers {
  readonly #byKey = new Map<string, Trigger[]>();

  /** The object changed, and so the key is to be looked at. Of one that changed again, only the last change counts. */
  note(key: string, kind: AnyKind, object: unknown): void {
    const causes = this.#byKey.get(key);
    if (!causes) {
      this.#byKey.set(key, [{ kind, object }]);
      return;
    }
    const { uid } = metadataOf(object);
    const same = causes.findIndex((one) => metadataOf(one.object).uid === uid);
    if (same >= 0) causes.splice(same, 1);
    else if (causes.length === most) causes.shift();
    causes.push({ kind, object });
  }

  /** Forgets and returns them, oldest first. */
  take(key: string): readonly Trigger[] {
    const known = this.#byKey.get(key) ?? [];
    this.#byKey.delete(key);
    return known;
  }

  /** What was taken has not been dealt with. */
  giveBack(key: string, taken: readonly Trigger[]): void {
    const newer = this.take(key);
    for (const { kind, object } of [...taken, ...newer]) this.note(key, kind, object);
  }
}

/** The subject of a reconcile first, then what led to it: `services/default/web@9,pods/default/web-1@17`. */
export const causesOf = (subject: string, triggers: readonly Trigger[]): string =>
  triggers.reduce(
    (text, { kind, object }) => `${text},${causeOf(kind, keyOfObject(object), metadataOf(object).resourceVersion)}`,
    subject,
  );
