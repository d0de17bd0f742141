// Estimates: at least so much, at most so much. What has no bound is Infinity.

export interface Estimate {
  readonly min: number;
  readonly max: number;
}

export function exactly(value: number): Estimate {
  return { min: value, max: value };
}

export const unknown: Estimate = { min: 0, max: Number.POSITIVE_INFINITY };

export function add(...estimates: readonly Estimate[]): Estimate {
  let [min, max] = [0, 0];
  for (const estimate of estimates) {
    min += estimate.min;
    max += estimate.max;
  }
  return { min, max };
}

/** Nothing times no bound is nothing. */
function product(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b;
}

export function multiply(a: Estimate, b: Estimate): Estimate {
  return { min: product(a.min, b.min), max: product(a.max, b.max) };
}

/** Times a factor, rounded up. */
export function scale({ min, max }: Estimate, factor: number): Estimate {
  return { min: Math.ceil(product(min, factor)), max: Math.ceil(product(max, factor)) };
}

export function union(a: Estimate, b: Estimate): Estimate {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}
