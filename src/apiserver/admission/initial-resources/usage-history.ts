// What containers used, by the image that they ran, for the last thirty days. It is bounded: of each day a random sample of fixed size is
// kept for each image, and images that were not seen for longest are forgotten.
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import { Lru } from "#client/lru.ts";

/** Thousandths of a processor, and bytes. */
export interface UsageSample {
  readonly cpu: number;
  readonly memory: number;
}
export type EstimatedResource = keyof UsageSample;

/** Whose usage is asked for: of all namespaces, or of all tags, where these are left out. */
export interface UsageScope {
  readonly namespace?: string | undefined;
  readonly image: string;
  readonly tag?: string | undefined;
}

export interface UsagePercentile {
  readonly amount: number;
  /** How many measurements it was made of. */
  readonly samples: number;
}

const dayMs = 24 * 60 * 60 * 1000;
const daysKept = 30;
/** Kept of one day: 1,000 series with 30 days of these take about 16 MB. */
const samplesOfDay = 32;
const seriesLimit = 1000;

/** One day of a series. `kept` is a random sample of all that was measured. */
interface UsageDay {
  readonly day: number;
  seen: number;
  readonly kept: UsageSample[];
}

interface UsageWorld {
  readonly clock: Clock;
  readonly random: Random;
}

export class UsageHistory {
  readonly #series = new Lru<UsageDay[]>(seriesLimit);

  /** Notes it in every scope that can be asked for, so that a question is answered from one series. */
  add(namespace: string, image: string, used: UsageSample, { clock, random }: UsageWorld): void {
    const name = splitImage(image);
    const today = Math.floor(clock.now() / dayMs);
    for (const scope of [name, { image: name.image }])
      for (const place of [scope, { ...scope, namespace }]) {
        const key = keyOf(place);
        const series = this.#series.get(key) ?? [];
        note(series, used, today, random);
        this.#series.set(key, series);
      }
  }

  /** What `percent` of the measurements of the last days do not exceed. */
  percentile(
    resource: EstimatedResource,
    percent: number,
    scope: UsageScope,
    days: number,
    now: number,
  ): UsagePercentile {
    const first = Math.floor(now / dayMs) - days;
    const recent = (this.#series.get(keyOf(scope)) ?? []).filter(({ day }) => day > first);
    const samples = recent.reduce((sum, { seen }) => sum + seen, 0);
    const weighted = recent
      .flatMap(({ seen, kept }) => kept.map((used) => ({ amount: used[resource], weight: seen / kept.length })))
      .sort((a, b) => a.amount - b.amount);
    let weight = 0;
    // A hair less, since sums of shares are not exact.
    const wanted = (samples * percent) / 100 - 1e-6;
    for (const one of weighted) {
      weight += one.weight;
      if (weight >= wanted) return { amount: one.amount, samples };
    }
    return { amount: 0, samples: 0 };
  }
}

function note(series: UsageDay[], used: UsageSample, day: number, random: Random): void {
  let last = series.at(-1);
  if (!last || last.day < day) {
    last = { day, seen: 0, kept: [] };
    series.push(last);
    while ((series[0]?.day ?? day) <= day - daysKept) series.shift();
  }
  last.seen++;
  // Reservoir sampling: each measurement of the day is kept with the same probability.
  const place = last.kept.length < samplesOfDay ? last.kept.length : random.below(last.seen);
  if (place < samplesOfDay) last.kept[place] = used;
}

/** The name of an image, and its tag or digest, which may be empty. A colon before the last slash is that of a port. */
export function splitImage(image: string): { readonly image: string; readonly tag: string } {
  const end = image.slice(image.lastIndexOf("/") + 1).search(/[:@]/);
  const at = end < 0 ? image.length : image.lastIndexOf("/") + 1 + end;
  return { image: image.slice(0, at), tag: image.slice(at) };
}

const keyOf = ({ namespace, image, tag }: UsageScope): string => JSON.stringify([namespace, image, tag]);
