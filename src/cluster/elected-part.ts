// A part of the control plane that works on one machine at a time. It is made anew for each term: caches and queues of a former term
// would be those of somebody who did not look for a while.
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { explain } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { type ElectionOptions, elected, LeadershipLost } from "#client/election.ts";
import { replaceFile } from "./certificates.ts";

export interface ElectedPartOptions extends Omit<ElectionOptions, "lease"> {
  /** Of the lease in kube-system, as upstream calls it. */
  readonly name: string;
  /** Called when this candidate leads; all writes of what it makes must ask `mayWrite` first. */
  readonly make: (mayWrite: () => boolean) => readonly Component[];
}

/** The name of whoever works with this folder, which one process at a time does: so it is the same after a restart, and of no other machine. */
export function candidateIn(folder: string, random: Random): string {
  const file = join(folder, "candidate");
  if (!existsSync(file)) replaceFile(file, `${hostname()}_${random.uuid()}`, 0o600);
  return readFileSync(file, "utf8");
}

export function electedPart({ name, make, ...options }: ElectedPartOptions): Component {
  const { log, identity } = options;
  const lease = { namespace: "kube-system", name };
  const term = async (signal: AbortSignal): Promise<void> => {
    const led: Component = {
      name,
      run: (stop) =>
        supervise(
          make(() => leader.mayWrite),
          stop,
        ),
    };
    const leader = elected(led, { ...options, lease });
    await leader.run(signal);
  };
  return {
    name,
    async run(signal) {
      while (!signal.aborted) {
        try {
          await term(signal);
        } catch (error) {
          if (signal.aborted || !isLost(error)) throw error;
          log.warn("another may lead by now; becoming a candidate again", { lease, identity, error: explain(error) });
        }
      }
      signal.throwIfAborted();
    },
  };
}

const isLost = (error: unknown): boolean =>
  error instanceof LeadershipLost || (error instanceof Error && error.cause !== undefined && isLost(error.cause));
