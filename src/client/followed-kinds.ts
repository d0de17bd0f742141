import type { AnyKind } from "#schema/kind.ts";
import type { DiscoveryResult, Occasion } from "./discovery.ts";
import { resourceName } from "./object-key.ts";

interface Following<F> {
  /** Whether to follow a kind; of several versions of it, the first one that matches is followed. */
  isWanted(kind: AnyKind): boolean;
  begin(kind: AnyKind): F;
  end(followed: F): void;
}

interface Entry<F> {
  readonly kind: AnyKind;
  readonly followed: F;
}

/** The kinds that someone follows, kept up with what is discovered. `F` is what there is of each. */
export class FollowedKinds<F> {
  readonly #following: Following<F>;
  /** By resource and group. */
  readonly #entries = new Map<string, Entry<F>>();

  constructor(following: Following<F>) {
    this.#following = following;
  }

  values(): readonly F[] {
    return [...this.#entries.values()].map(({ followed }) => followed);
  }

  /**
   * Follows new kinds at once, also those that changed their version. A kind that is gone is dropped only at the next interval: its
   * removal is often announced before the informer has seen the deletion of its last objects, which would be lost with the informer.
   */
  update({ kinds, failures }: DiscoveryResult, occasion: Occasion): void {
    if (kinds.length === 0) return; // a server that serves nothing has only just started
    const wanted = new Map<string, AnyKind>();
    for (const kind of kinds)
      if (!wanted.has(resourceName(kind)) && this.#following.isWanted(kind)) wanted.set(resourceName(kind), kind);
    for (const [name, { kind, followed }] of this.#entries) {
      const present = wanted.get(name);
      const isGone = present === undefined && occasion === "time" && !failures.has(kind.apiVersion);
      if (!isGone && (!present || isSame(kind, present))) continue;
      this.#entries.delete(name);
      this.#following.end(followed);
    }
    for (const [name, kind] of wanted)
      if (!this.#entries.has(name)) this.#entries.set(name, { kind, followed: this.#following.begin(kind) });
  }
}

const isSame = (a: AnyKind, b: AnyKind): boolean =>
  a.apiVersion === b.apiVersion && a.kind === b.kind && a.scope === b.scope;
