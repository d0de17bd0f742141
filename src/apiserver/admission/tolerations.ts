// Which tolerations make others superfluous.
// Upstream: pkg/util/tolerations/tolerations.go.
import type { Toleration } from "#api/core/v1/affinity.ts";
import { equal } from "#base/collections.ts";

/**
 * Both lists in one, without those that another of them covers. Clients say how many there are, so each is looked up among the others and
 * not compared with each of them.
 */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): Toleration[] {
  const all = [...first, ...second];
  const later = new CoverIndex();
  const isCoveredLater = all.map(() => false);
  for (const [i, one] of [...all.entries()].reverse()) {
    isCoveredLater[i] = later.covers(one, { besidesEqual: true });
    later.add(one);
  }
  const kept = new CoverIndex();
  return all.filter((one, i) => {
    if (isCoveredLater[i] || kept.covers(one)) return false;
    kept.add(one);
    return true;
  });
}

/** How long a toleration bears a taint, of those that bear the same taints. */
interface Cover {
  readonly identity: string;
  readonly seconds: number;
}

/** Tolerations by the taints that they bear, so that `covers` below can be answered for many at once. */
class CoverIndex {
  readonly #identities = new Set<string>();
  /** The two that bear longest, and are not equal: one of them is left when those that equal a toleration do not count. */
  readonly #longest = new Map<string, readonly Cover[]>();

  add(toleration: Toleration): void {
    const identity = identityOf(toleration);
    if (this.#identities.has(identity)) return;
    this.#identities.add(identity);
    const { key = "", operator = "Equal", value = "", effect = "", tolerationSeconds } = toleration;
    if (operator !== "Exists" && operator !== "Equal") return; // covers its equals only
    const seconds = effect === "NoExecute" ? (tolerationSeconds ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
    const taints = taintsText(key, effect, operator === "Exists" ? undefined : value);
    const known = this.#longest.get(taints);
    const covers = known ? [...known, { identity, seconds }] : [{ identity, seconds }];
    this.#longest.set(taints, known ? covers.sort((a, b) => b.seconds - a.seconds || 0).slice(0, 2) : covers);
  }

  /** Whether one of those that were added covers the toleration. */
  covers(toleration: Toleration, { besidesEqual = false } = {}): boolean {
    const identity = identityOf(toleration);
    if (!besidesEqual && this.#identities.has(identity)) return true;
    const { key = "", operator, value = "", effect = "", tolerationSeconds = Number.POSITIVE_INFINITY } = toleration;
    const values = operator === "Equal" ? [undefined, value] : [undefined];
    return [effect, ""].some((itsEffect) =>
      values.some((itsValue) =>
        // Without a key only `Exists` is for all keys.
        (itsValue === undefined ? [key, ""] : [key]).some((itsKey) =>
          this.#longest
            .get(taintsText(itsKey, itsEffect, itsValue))
            ?.some((cover) => cover.seconds >= tolerationSeconds && !(besidesEqual && cover.identity === identity)),
        ),
      ),
    );
  }
}

const identityOf = ({ key, operator, value, effect, tolerationSeconds }: Toleration): string =>
  `${key?.length} ${key} ${operator} ${value?.length} ${value} ${effect} ${tolerationSeconds}`;

/** Which taints are borne; without a value, those with any. Lengths tell where a text ends, whatever is in it. */
const taintsText = (key: string, effect: string, value: string | undefined): string =>
  `${key.length} ${key} ${effect} ${value === undefined ? "" : `=${value}`}`;

/** Whether all that `one` tolerates is tolerated by `other`, too. */
export function covers(other: Toleration, one: Toleration): boolean {
  if (equal(other, one)) return true;
  if ((one.key ?? "") !== (other.key ?? "") && (other.key || other.operator !== "Exists")) return false;
  if (other.effect && one.effect !== other.effect) return false;
  if (other.effect === "NoExecute" && other.tolerationSeconds !== undefined)
    if (one.tolerationSeconds === undefined || one.tolerationSeconds > other.tolerationSeconds) return false;
  if (other.operator === "Exists") return true;
  const isEqual = other.operator === undefined || other.operator === "Equal";
  return isEqual && one.operator === "Equal" && (one.value ?? "") === (other.value ?? "");
}
