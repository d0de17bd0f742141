// Which objects a rollout command means.
import type { FlagDeclarations } from "../flags.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { Session } from "../session.ts";
import { filenameFlags } from "../write-options.ts";

export const rolloutSelectionFlags = {
  ...filenameFlags,
  selector: { type: "string", short: "l", help: "Only objects with these labels." },
} as const satisfies FlagDeclarations;

export interface RolloutSelection {
  readonly filename: readonly string[];
  readonly recursive: boolean;
  readonly kustomize: string;
  readonly selector: string;
}

export const rolloutQuery = (
  session: Session,
  args: readonly string[],
  flags: RolloutSelection,
): Promise<ResourceQuery> =>
  ResourceQuery.of(session, {
    filenames: flags.filename,
    isRecursive: flags.recursive,
    kustomize: flags.kustomize,
    args,
    labelSelector: flags.selector,
    allowEmptySelector: true,
    chunkSize: 0,
    continueOnError: true,
    flatten: true,
    latest: true,
  });
