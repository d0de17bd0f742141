// How far each log was delivered, as it is kept on disk: whoever reads the logs next goes on there.
import { parseJson } from "#schema/json.ts";

export interface Checkpoint {
  /** How the file begins in which to go on, in base64. Records begin with a time of nine decimals, so no two files begin alike. */
  readonly head: string;
  /** Position at which that file begins. */
  readonly base: number;
  /** Where to go on in it, in bytes. */
  readonly offset: number;
  /** Position up to which lines were delivered: at least `base + offset`, more while a line of the other stream is not whole. */
  readonly delivered: number;
}

export interface Checkpoints {
  /** New whenever all checkpoints were lost. Positions of different epochs have nothing to do with each other. */
  readonly epoch: string;
  /** By path of the log below the folder of all logs. */
  readonly logs: ReadonlyMap<string, Checkpoint>;
}

export const formatCheckpoints = ({ epoch, logs }: Checkpoints): string =>
  JSON.stringify({ epoch, logs: Object.fromEntries(logs) });

/** Undefined for what is no such text. */
export function parseCheckpoints(text: string): Checkpoints | undefined {
  let value: unknown;
  try {
    ({ value } = parseJson(text));
  } catch {
    return undefined; // whatever it is, we cannot go on from it
  }
  const { epoch, logs } = (value ?? {}) as { readonly epoch?: unknown; readonly logs?: unknown };
  if (typeof epoch !== "string" || typeof logs !== "object" || logs === null) return undefined;
  const entries = Object.entries(logs);
  return entries.every(([, one]) => isCheckpoint(one)) ? { epoch, logs: new Map(entries) } : undefined;
}

function isCheckpoint(value: unknown): value is Checkpoint {
  const { head, base, offset, delivered } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return typeof head === "string" && [base, offset, delivered].every((one) => Number.isSafeInteger(one));
}
