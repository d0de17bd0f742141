// What the `set` commands have in common: which objects are meant, and the patch of each (upstream: kubectl/pkg/cmd/set/helper.go).
import { createStrategicPatch } from "#schema/patch/strategic-diff.ts";
import { builtInStruct } from "../../apply/built-in-struct.ts";
import type { Invocation } from "../../command.ts";
import { AggregateKubectlError, KubectlError } from "../../errors.ts";
import type { FlagDeclarations } from "../../flags.ts";
import { goJson } from "../../go/json.ts";
import { objectName, patchInfo, type ResourceInfo } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import {
  annotated,
  changeCauseAnnotation,
  fieldManagerFlag,
  filenameFlags,
  printObject,
  type WriteRequest,
  writeSettings,
  writtenFlags,
} from "../../write-options.ts";
import { commandLine } from "../command-line.ts";

export const setFlags = {
  ...writtenFlags,
  ...filenameFlags,
  ...fieldManagerFlag("kubectl-set"),
  all: { type: "bool", help: "All objects of the types, in the namespace." },
  local: { type: "bool", help: "Change the objects of the files, without asking a server." },
} as const satisfies FlagDeclarations;

export const setSelectorFlag = {
  selector: { type: "string", short: "l", help: "Only objects with these labels." },
} as const satisfies FlagDeclarations;

export interface SetRequest extends WriteRequest {
  readonly filename: readonly string[];
  readonly recursive: boolean;
  readonly kustomize: string;
  readonly all: boolean;
  readonly local: boolean;
  readonly selector?: string;
  readonly record?: boolean;
}

/** The objects that are named, as they are now. */
export async function setTargets(
  session: Session,
  args: readonly string[],
  request: SetRequest,
): Promise<ResourceInfo[]> {
  const query = await ResourceQuery.of(session, {
    filenames: request.filename,
    isRecursive: request.recursive,
    kustomize: request.kustomize,
    args,
    labelSelector: request.local ? "" : (request.selector ?? ""),
    allowEmptySelector: request.all,
    chunkSize: 0,
    continueOnError: true,
    flatten: true,
    latest: !request.local,
    isLocal: request.local,
  });
  return query.infos();
}

export const localServerRun = "cannot specify --local and --dry-run=server - did you mean --dry-run=client?";
export const allAndSelector = "cannot set --all and --selector at the same time";

export interface SetChange {
  /** What was done: `image updated`. */
  readonly done: string;
  /** What a refusal of the server begins with. */
  readonly failure: string;
  /** Writes and tells of objects even if nothing about them changes. */
  readonly isUnconditional?: boolean;
  /** The object after the change; problems that keep no other change from being made are added to the list. */
  change(object: KubeObject, problems: Error[]): KubeObject;
}

interface SetStates {
  readonly before: KubeObject;
  readonly after: KubeObject;
  readonly done: string;
}

const strategicType = "application/strategic-merge-patch+json";

/** Writes one object, and tells of it even if nothing about it changes. Rejects as the server refuses. */
export async function patchOne<F extends FlagDeclarations>(
  session: Session,
  info: ResourceInfo,
  request: SetRequest,
  { before, after, done }: SetStates,
  invocation: Invocation<F>,
): Promise<void> {
  const settings = writeSettings(session, request, done);
  const noted = withRecord(after, request, invocation);
  if (request.local || settings.dryRun === "client") return printObject(session, settings.printer, noted);
  const patch = strategicPatch(before, noted);
  printObject(
    session,
    settings.printer,
    await patchInfo(await session.client(), info, strategicType, patch, settings.options),
  );
}

const withRecord = <F extends FlagDeclarations>(
  object: KubeObject,
  { record }: SetRequest,
  invocation: Invocation<F>,
): KubeObject => (record ? annotated(object, changeCauseAnnotation, commandLine(invocation)) : object);

function strategicPatch(before: KubeObject, after: KubeObject): string {
  const struct = builtInStruct(before);
  if (!struct) throw new KubectlError(`${before.apiVersion}, Kind=${before.kind} has no strategic merge patches`);
  return goJson(createStrategicPatch(struct, before, after));
}

/** Changes each object, and tells in the end what went wrong. */
export async function changeAll<F extends FlagDeclarations>(
  session: Session,
  infos: readonly ResourceInfo[],
  request: SetRequest,
  { done, failure, isUnconditional, change }: SetChange,
  invocation: Invocation<F>,
): Promise<void> {
  const settings = writeSettings(session, request, done);
  const problems: Error[] = [];
  const patches: { info: ResourceInfo; after: KubeObject; patch: string }[] = [];
  for (const info of infos)
    try {
      const before = info.object ?? {};
      const after = withRecord(change(before, problems), request, invocation);
      patches.push({ info, after, patch: strategicPatch(before, after) });
    } catch (error) {
      if (!(error instanceof KubectlError)) throw error;
      problems.push(new KubectlError(`error: ${objectName(info)} ${error.message}\n`, { cause: error }));
    }
  for (const { info, after, patch } of patches) {
    if (patch === "{}" && !isUnconditional) continue;
    if (request.local || settings.dryRun === "client") {
      printObject(session, settings.printer, after);
      continue;
    }
    try {
      const client = await session.client();
      const object = await patchInfo(client, info, strategicType, patch, settings.options);
      printObject(session, settings.printer, object);
    } catch (cause) {
      if (!(cause instanceof Error)) throw cause;
      problems.push(new KubectlError(`${failure}${cause.message}`, { cause }));
    }
  }
  if (problems.length > 0) throw new AggregateKubectlError(problems);
}
