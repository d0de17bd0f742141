// Apply by the server, and the move of fields that an apply by the client noted for another manager
// (upstream: kubectl/pkg/cmd/apply/apply.go, client-go/util/csaupgrade).
import { isDeepStrictEqual } from "node:util";
import { ApiError, isConflict } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import { goJson } from "../go/json.ts";
import {
  getInfo,
  infoPath,
  metadataOf,
  patchInfo,
  type ResourceInfo,
  type ResourceWriteOptions,
  refreshInfo,
  stringIn,
  writeQuery,
} from "../resources/resource-info.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { lastAppliedAnnotation } from "../write-options.ts";
import { lastApplied } from "./client-side.ts";

/** Who applies unless `--field-manager` says otherwise. */
export const serverSideManager = "kubectl";
const annotationManager = "kubectl-last-applied";
const mostAttempts = 5;

const conflictHelp = `Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the \`--force-conflicts\` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts`;

/** Sends an object to be applied. Rejects with the server's refusal. */
export const sendApply = (
  client: RestClient,
  info: ResourceInfo,
  object: KubeObject | undefined,
  options: ResourceWriteOptions,
  force?: boolean,
): Promise<KubeObject> =>
  client.json({
    method: "PATCH",
    path: infoPath(info),
    query: [...writeQuery(options), ...(force === undefined ? [] : [["force", String(force)] as const])],
    body: `${goJson(object)}\n`,
    contentType: "application/apply-patch+yaml",
  });

/** Applies the object, and takes over what the client-side apply of before manages. */
export async function applyByServer(
  session: Session,
  info: ResourceInfo,
  options: ResourceWriteOptions,
  force: boolean,
): Promise<void> {
  const client = await session.client();
  const wanted = info.object;
  try {
    refreshInfo(info, await sendApply(client, info, wanted, options, force));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 415)
      throw new KubectlError(`Server-side apply not available on the server: (${error.message})`, { cause: error });
    if (!isConflict(error)) throw error;
    throw new KubectlError(`${error.message}\n${conflictHelp}`, { cause: error });
  }
  await migrate(session, info, wanted, options, force);
}

async function migrate(
  session: Session,
  info: ResourceInfo,
  wanted: KubeObject | undefined,
  options: ResourceWriteOptions,
  force: boolean,
): Promise<void> {
  const client = await session.client();
  const attempt = async (work: () => Promise<boolean>, failed: string, hint: string) => {
    try {
      return await work();
    } catch (error) {
      session.printError(`Warning: ${failed}: ${error instanceof Error ? error.message : String(error)}.\n${hint}`);
      return undefined;
    }
  };
  const kept = await attempt(
    () => keepAnnotation(client, info, options),
    "failed to migrate kubectl last-applied-configuration annotation to Server-Side Apply",
    "The operation will be retried the next time apply is called.",
  );
  if (kept === undefined) return;
  const isMoved = await attempt(
    () => moveFields(client, info, options),
    "server rejected managed fields migration to Server-Side Apply. This is non-fatal and will be retried next time you apply. Error",
    "",
  );
  if (!isMoved) return;
  await attempt(
    async () => {
      refreshInfo(info, await sendApply(client, info, wanted, options, force));
      return true;
    },
    "failed to re-apply configuration after performing Server-Side Apply migration. This is non-fatal and will be retried next time you apply. Error",
    "",
  );
}

const annotationPath = ["f:metadata", "f:annotations", `f:${lastAppliedAnnotation}`];

/** The note of the last apply would be lost with its manager: it gets one of its own. */
async function keepAnnotation(client: RestClient, info: ResourceInfo, options: ResourceWriteOptions): Promise<boolean> {
  const noted = lastApplied(info.object);
  if (options.fieldManager !== serverSideManager || noted === undefined) return false;
  if (entriesOf(info.object).some((entry) => entry.operation === "Apply" && owns(entry, annotationPath))) return false;
  const { apiVersion, kind } = info.object ?? {};
  const { name, namespace } = metadataOf(info.object);
  const metadata = {
    annotations: { [lastAppliedAnnotation]: noted },
    name,
    ...(namespace !== undefined && { namespace }),
  };
  const { isDryRun, fieldValidation } = options;
  const object = await sendApply(
    client,
    info,
    { apiVersion, kind, metadata },
    {
      ...(isDryRun !== undefined && { isDryRun }),
      ...(fieldValidation !== undefined && { fieldValidation }),
      fieldManager: annotationManager,
    },
  );
  refreshInfo(info, object);
  return true;
}

/** Whether there was something to move. */
async function moveFields(client: RestClient, info: ResourceInfo, options: ResourceWriteOptions): Promise<boolean> {
  const managers = new Set(
    entriesOf(info.object)
      .filter((entry) => entry.operation === "Update" && owns(entry, annotationPath))
      .map(({ manager }) => stringIn(manager)),
  );
  for (let attempt = 1; ; attempt++) {
    const before = entriesOf(info.object);
    let entries = before;
    for (const manager of managers) entries = upgradedEntries(entries, manager, options.fieldManager ?? "");
    if (isDeepStrictEqual(entries, before)) return false;
    const patch = [
      { op: "replace", path: "/metadata/managedFields", value: entries },
      { op: "replace", path: "/metadata/resourceVersion", value: metadataOf(info.object).resourceVersion },
    ];
    try {
      refreshInfo(info, await patchInfo(client, info, "application/json-patch+json", goJson(patch), options));
      return true;
    } catch (error) {
      if (!isConflict(error) || attempt >= mostAttempts) throw error;
      info.object = await getInfo(client, info);
    }
  }
}

type Entry = Readonly<Record<string, unknown>>;

function entriesOf(object: KubeObject | undefined): readonly Entry[] {
  const { managedFields } = metadataOf(object);
  return Array.isArray(managedFields) ? managedFields.filter(isObject) : [];
}

function owns(entry: Entry, path: readonly string[]): boolean {
  let fields: unknown = entry.fieldsV1;
  for (const step of path) fields = isObject(fields) ? fields[step] : undefined;
  return fields !== undefined;
}

/** The entries with what the old manager updated made part of what the new one applied. */
export function upgradedEntries(entries: readonly Entry[], old: string, manager: string): readonly Entry[] {
  const isOld = (entry: Entry) =>
    entry.manager === old && entry.operation === "Update" && (entry.subresource ?? "") === "";
  const isNew = (entry: Entry) =>
    entry.manager === manager && entry.operation === "Apply" && (entry.subresource ?? "") === "";
  const at = entries.some(isNew) ? entries.findIndex(isNew) : entries.findIndex(isOld);
  const target = entries[at];
  if (!target) return entries;
  const source = entries.find((entry) => isOld(entry) && entry.apiVersion === target.apiVersion);
  const upgraded = {
    ...target,
    manager,
    operation: "Apply",
    fieldsV1: source ? unionOf(target.fieldsV1, source.fieldsV1) : target.fieldsV1,
  };
  return entries.with(at, upgraded).filter((entry) => !isOld(entry));
}

/** A set of fields is a tree: all branches of both. */
function unionOf(a: unknown, b: unknown): unknown {
  if (!isObject(a) || !isObject(b)) return isObject(a) ? a : b;
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return Object.fromEntries(
    keys.map((key) => [key, key in a && key in b ? unionOf(a[key], b[key]) : key in a ? a[key] : b[key]]),
  );
}
