// Apply by the client: what the manifest says, what the last one said and what the server has make one patch
// (upstream: kubectl/pkg/cmd/apply/patcher.go).
import { isConflict, isInvalid, isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { PatchConflictError, PatchError } from "#schema/patch/error.ts";
import { createThreeWayMergePatch } from "#schema/patch/merge-patch.ts";
import { createThreeWayStrategicPatch } from "#schema/patch/strategic-diff.ts";
import { KubectlError, withSource } from "../errors.ts";
import { goJson } from "../go/json.ts";
import {
  createInfo,
  deleteInfo,
  getInfo,
  infoPath,
  metadataOf,
  patchInfo,
  type ResourceInfo,
  type ResourceWriteOptions,
  stringIn,
} from "../resources/resource-info.ts";
import { type KubeObject, parseAnswer } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { lastAppliedAnnotation } from "../write-options.ts";
import { builtInStruct } from "./built-in-struct.ts";
import { patchContentTypes, patchedObject } from "./patch-object.ts";

/** How often an apply begins anew when someone else wrote in between. */
const mostAttempts = 5;
const attemptsBeforePause = 1;
const pauseMs = 1000;
/** How often it is looked whether an object is gone. */
const lookMs = 1000;

export interface ClientSideApply {
  /** What others have changed since the last apply is overwritten. */
  readonly overwrite: boolean;
  readonly options: ResourceWriteOptions;
  /** Asks no server: the patch is put on the object here. */
  readonly isLocal?: boolean;
  /** Refuses if the object is no longer the one that was read. */
  readonly isLocked?: boolean;
  /** If the patch is refused, the object is deleted with these options and created anew. */
  readonly force?: { readonly deletion: KubeObject; readonly timeout: bigint };
}

export interface AppliedPatch {
  /** `{}` if nothing was to be changed. */
  readonly patch: string;
  readonly object: KubeObject;
}

/** Brings the object to what `modified` says. Rejects with the server's refusal, which names the patch. */
export async function patchApplied(
  session: Session,
  info: ResourceInfo,
  first: KubeObject,
  modified: KubeObject,
  apply: ClientSideApply,
): Promise<AppliedPatch> {
  const client = await session.client();
  let current = first;
  for (let attempt = 1; ; attempt++) {
    const { patch, type } = patchOf(current, modified, apply.overwrite);
    if (Object.keys(patch).length === 0) return { patch: "{}", object: current };
    if (apply.isLocal) return { patch: goJson(patch), object: patchedObject(current, patch, type) };
    const text = goJson(apply.isLocked ? atVersion(patch, metadataOf(current).resourceVersion) : patch);
    try {
      return {
        patch: text,
        object: await patchInfo(client, info, patchContentTypes[type], text, apply.options),
      };
    } catch (error) {
      if (isConflict(error) && attempt <= mostAttempts) {
        if (attempt > attemptsBeforePause) await session.io.clock.sleep(pauseMs, session.io.signal);
        current = await getInfo(client, info);
      } else if (apply.force && (isConflict(error) || isInvalid(error)))
        return { patch: text, object: await recreate(session, info, modified, apply, apply.force) };
      else
        throw withSource(
          `applying patch:\n${text}\nto:\n${describeInfo(info)}\nfor:`,
          info.source,
          withSource("patching", info.source, error),
        );
    }
  }
}

const atVersion = (patch: KubeObject, resourceVersion: unknown): KubeObject => ({
  ...patch,
  metadata: { ...metadataOf(patch), resourceVersion },
});

async function recreate(
  session: Session,
  info: ResourceInfo,
  modified: KubeObject,
  { options }: ClientSideApply,
  { deletion, timeout }: NonNullable<ClientSideApply["force"]>,
): Promise<KubeObject> {
  const client = await session.client();
  const { clock, signal } = session.io;
  const original = info.object;
  await deleteInfo(client, info, deletion);
  const began = clock.elapsed();
  for (;;) {
    try {
      await client.json({ path: infoPath(info) });
    } catch (error) {
      if (isNotFound(error)) break;
      throw error;
    }
    if (timeout > 0n && clock.elapsed() - began > Number(timeout) / 1e6)
      throw new KubectlError("timed out waiting for the condition");
    await clock.sleep(lookMs, signal);
  }
  try {
    return await createInfo(client, { ...info, object: modified }, options);
  } catch (error) {
    // The person should not be left with nothing.
    const { resourceVersion: _, uid: __, ...metadata } = metadataOf(original);
    try {
      await createInfo(client, { ...info, object: { ...original, metadata } }, options);
    } catch (second) {
      throw new KubectlError(
        `An error occurred force-replacing the existing object with the newly provided one:\n\n${messageOf(error)}.\n\nAdditionally, an error occurred attempting to restore the original object:\n\n${messageOf(second)}`,
        { cause: error },
      );
    }
    throw error;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** As errors name an object. */
export function describeInfo({ mapping, name, namespace }: ResourceInfo): string {
  const { group = "", version = "", resource = "", kind = "" } = mapping ?? {};
  return `Resource: "${group}/${version}, Resource=${resource}", GroupVersionKind: "${group}/${version}, Kind=${kind}"\nName: ${JSON.stringify(name)}, Namespace: ${JSON.stringify(namespace)}`;
}

/** What the last apply noted; undefined if none did. */
export function lastApplied(object: KubeObject | undefined): string | undefined {
  const { annotations } = metadataOf(object);
  const noted = isObject(annotations) ? annotations[lastAppliedAnnotation] : undefined;
  return noted === undefined ? undefined : stringIn(noted);
}

interface ComputedPatch {
  readonly patch: KubeObject;
  readonly type: "merge" | "strategic";
}

/** What must change so that the object is as the manifest says, and what the last one said and this one does not is gone. */
function patchOf(current: KubeObject, modified: KubeObject, overwrite: boolean): ComputedPatch {
  const noted = lastApplied(current) ?? "";
  const original = (noted === "" ? {} : parseAnswer(noted)) as KubeObject;
  const struct = builtInStruct(current);
  try {
    if (struct)
      return {
        patch: createThreeWayStrategicPatch(struct, { original, modified, current }, overwrite),
        type: "strategic",
      };
    return { patch: createThreeWayMergePatch(original, modified, current), type: "merge" };
  } catch (error) {
    if (!(error instanceof PatchError) && !(error instanceof PatchConflictError)) throw error;
    throw new KubectlError(
      `creating patch with:\noriginal:\n${goJson(original)}\nmodified:\n${goJson(modified)}\ncurrent:\n${goJson(current)}\nfor: ${error.message}`,
      { cause: error },
    );
  }
}
