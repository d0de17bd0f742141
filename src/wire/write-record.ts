// The record of a write, as `GET /knarr/v1/trace` returns it.
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
  /** The steps that the writer took before the write, in order, if it sent any. */
  readonly steps?: readonly DoneStep[];
}
