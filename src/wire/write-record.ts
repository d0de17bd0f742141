// What the server remembers of a write, as `GET /knarr/v1/trace` tells it.
import type { DoneStep } from "./steps.ts";

/** An object at a revision, as `Knarr-Because` names it: `pods/default/web@17`, `nodes/n1@3`. */
export interface Cause {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
}

export interface WriteRecord {
  readonly revision: number;
  /** When it was committed, in milliseconds since 1970. */
  readonly at: number;
  /** `deployments.apps`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly verb: string;
  readonly subresource?: string;
  readonly user: string;
  readonly userAgent: string;
  readonly traceId: string;
  readonly because: readonly Cause[];
  /** Milliseconds spent in each stage, in the order in which they were passed. */
  readonly stages: Readonly<Record<string, number>>;
  /** What the writer did before it wrote, if it told, in the order in which it was done. */
  readonly steps?: readonly DoneStep[];
}
