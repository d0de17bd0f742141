// Bringing scores of any size into the range from 0 to 100.
// Upstream: pkg/scheduler/framework/plugins/helper/normalize_score.go.
import type { NodeState } from "../node-state.ts";

/** The highest becomes 100, and the others keep their proportion to it. */
export function proportional(scores: Float64Array, { length }: readonly NodeState[]): void {
  const most = highest(scores, length);
  if (most === 0) return;
  for (let i = 0; i < length; i++) scores[i] = Math.trunc((100 * (scores[i] as number)) / most);
}

/** The same for scores of which the lowest is best. */
export function reversed(scores: Float64Array, { length }: readonly NodeState[]): void {
  const most = highest(scores, length);
  for (let i = 0; i < length; i++)
    scores[i] = most === 0 ? 100 : 100 - Math.trunc((100 * (scores[i] as number)) / most);
}

function highest(scores: Float64Array, length: number): number {
  let most = 0;
  for (let i = 0; i < length; i++) most = Math.max(most, scores[i] as number);
  return most;
}
