// `kubectl apply`, by the client and by the server (upstream: kubectl/pkg/cmd/apply/apply.go and patcher.go).
import { ApiError, isConflict, isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { PatchConflictError, PatchError } from "#schema/patch/error.ts";
import { createThreeWayMergePatch } from "#schema/patch/merge-patch.ts";
import { createThreeWayStrategicPatch } from "#schema/patch/strategic-diff.ts";
import { builtInStruct } from "../apply/built-in-struct.ts";
import { patchContentTypes, patchedObject } from "../apply/patch-object.ts";
import { command } from "../command.ts";
import { KubectlError, usageError, withSource } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { goJson } from "../go/json.ts";
import { outputPrinter } from "../printers/output.ts";
import {
  createInfo,
  getInfo,
  infoPath,
  metadataOf,
  patchInfo,
  type ResourceInfo,
  refreshInfo,
  stringIn,
  writeQuery,
} from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import { type KubeObject, parseAnswer } from "../rest/client.ts";
import type { Session } from "../session.ts";
import {
  annotated,
  appliedConfiguration,
  filenameFlags,
  lastAppliedAnnotation,
  operationText,
  printObject,
  validateFlag,
  type WriteSettings,
  writeSettings,
  writtenFlags,
} from "../write-options.ts";

const applyFlags = {
  ...writtenFlags,
  ...filenameFlags,
  ...validateFlag,
  "field-manager": {
    type: "string",
    help: "Name of the manager that fields are noted for; kubectl-client-side-apply, or kubectl with --server-side, unless given.",
  },
  "force-conflicts": { type: "bool", help: "With --server-side, take over fields that others manage." },
  overwrite: { type: "bool", default: true, help: "Overwrite what others have changed since the last apply." },
  selector: { type: "string", short: "l", help: "Only objects with these labels." },
  "server-side": { type: "bool", help: "Let the server apply." },
} as const satisfies FlagDeclarations;
type ApplyFlags = ParsedFlags<typeof applyFlags>;

export const apply = command({
  use: "apply (-f FILENAME | -k DIRECTORY)",
  long: "Bring objects to what manifests say. What is not there is created; what others have added stays.",
  flags: applyFlags,
  run: async (session, args, flags, { commandPath }) => {
    if (args.length > 0) throw usageError(`Unexpected args: [${args.join(" ")}]`, commandPath);
    if (flags.filename.length === 0 && flags.kustomize === "") throw new KubectlError("must specify one of -f and -k");
    if (flags["force-conflicts"] && !flags["server-side"])
      throw new KubectlError("--force-conflicts only works with --server-side");
    if (flags["dry-run"] === "client" && flags["server-side"])
      throw new KubectlError(
        "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)",
      );
    const manager = flags["field-manager"] || (flags["server-side"] ? "kubectl" : "kubectl-client-side-apply");
    const settings = writeSettings(session, { ...flags, "field-manager": manager }, "applied");
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      labelSelector: flags.selector,
      continueOnError: true,
      flatten: true,
    });
    let count = 0;
    const applied: KubeObject[] = [];
    await query.visit(async (info) => {
      count++;
      const what = flags["server-side"]
        ? await applyByServer(session, info, flags, settings)
        : await applyByClient(session, info, flags, settings);
      warnIfDeleting(session, info.object);
      if (flags.output === "" || flags.output === "name")
        printApplied(session, flags, settings, info.object ?? {}, what);
      else applied.push(info.object ?? {});
    });
    if (count === 0) throw new KubectlError("no objects passed to apply");
    printTogether(session, settings, applied);
  },
});

function printApplied(
  session: Session,
  flags: ApplyFlags,
  { dryRun }: WriteSettings,
  object: KubeObject,
  what: string,
): void {
  const printer = outputPrinter(flags, { operation: operationText(what, dryRun), cwd: session.io.cwd });
  printObject(session, printer, object);
}

/** Several objects are printed as a list. */
function printTogether(session: Session, { printer }: WriteSettings, objects: readonly KubeObject[]): void {
  const [first] = objects;
  if (!first) return;
  const list = { apiVersion: "v1", items: objects, kind: "List", metadata: { resourceVersion: "" } };
  printObject(session, printer, objects.length === 1 ? first : list);
}

function warnIfDeleting(session: Session, object: KubeObject | undefined): void {
  const { deletionTimestamp, finalizers } = metadataOf(object);
  if (deletionTimestamp !== undefined && Array.isArray(finalizers) && finalizers.length > 0)
    session.printError(
      `Warning: Detected changes to resource ${metadataOf(object).name} which is currently being deleted.`,
    );
}

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

async function applyByServer(
  session: Session,
  info: ResourceInfo,
  flags: ApplyFlags,
  { options }: WriteSettings,
): Promise<string> {
  const client = await session.client();
  try {
    const object = await client.json({
      method: "PATCH",
      path: infoPath(info),
      query: [...writeQuery(options), ["force", String(flags["force-conflicts"])]],
      body: `${goJson(info.object)}\n`,
      contentType: "application/apply-patch+yaml",
    });
    refreshInfo(info, object);
  } catch (error) {
    if (!isConflict(error) || !(error instanceof ApiError)) throw error;
    throw new KubectlError(`${error.message}\n${conflictHelp}`, { cause: error });
  }
  return "serverside-applied";
}

async function applyByClient(
  session: Session,
  info: ResourceInfo,
  flags: ApplyFlags,
  settings: WriteSettings,
): Promise<string> {
  const wanted = info.object ?? {};
  const { generateName } = metadataOf(wanted);
  if (info.name === "" && typeof generateName === "string")
    throw new KubectlError(`from ${generateName}: cannot use generate name with apply`);
  const modified = annotated(wanted, lastAppliedAnnotation, appliedConfiguration(wanted));
  const client = await session.client();
  let current: KubeObject;
  try {
    current = await getInfo(client, info);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return createApplied(session, info, modified, settings);
  }
  return patchApplied(session, info, { current, modified }, { flags, settings });
}

async function createApplied(
  session: Session,
  info: ResourceInfo,
  modified: KubeObject,
  settings: WriteSettings,
): Promise<string> {
  info.object = withoutNulls(modified) as KubeObject;
  if (settings.dryRun === "client") return "created";
  try {
    refreshInfo(info, await createInfo(await session.client(), info, settings.options));
  } catch (error) {
    throw withSource("creating", info.source, error);
  }
  return "created";
}

/** An object that is created has no use for fields that say null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [[key, withoutNulls(one)]])),
  );
}

interface AppliedStates {
  readonly current: KubeObject;
  readonly modified: KubeObject;
}

/** How often an apply begins anew when someone else wrote in between. */
const mostAttempts = 5;

async function patchApplied(
  session: Session,
  info: ResourceInfo,
  states: AppliedStates,
  { flags, settings }: { readonly flags: ApplyFlags; readonly settings: WriteSettings },
): Promise<string> {
  const client = await session.client();
  let { current } = states;
  warnIfNotApplied(session, info, current);
  for (let attempt = 1; ; attempt++) {
    const { patch, type } = patchOf(current, states.modified, flags.overwrite);
    if (Object.keys(patch).length === 0) {
      refreshInfo(info, current);
      return "unchanged";
    }
    if (settings.dryRun === "client") {
      info.object = patchedObject(current, patch, type);
      return "configured";
    }
    try {
      refreshInfo(info, await patchInfo(client, info, patchContentTypes[type], goJson(patch), settings.options));
      return "configured";
    } catch (error) {
      if (!isConflict(error) || attempt >= mostAttempts)
        throw withSource(`applying patch:\n${goJson(patch)}\nto:\n${describeInfo(info)}\nfor:`, info.source, error);
      current = await getInfo(client, info);
    }
  }
}

const describeInfo = ({ mapping, name, namespace }: ResourceInfo): string =>
  `Resource: "${mapping?.group ? `${mapping.group}/` : "/"}${mapping?.version}, Resource=${mapping?.resource}", GroupVersionKind: "${mapping?.group ? `${mapping.group}/` : "/"}${mapping?.version}, Kind=${mapping?.kind}"\nName: ${JSON.stringify(name)}, Namespace: ${JSON.stringify(namespace)}`;

function warnIfNotApplied(session: Session, { mapping, name }: ResourceInfo, current: KubeObject): void {
  const annotations = metadataOf(current).annotations;
  if (isObject(annotations) && Object.hasOwn(annotations, lastAppliedAnnotation)) return;
  session.printError(
    `Warning: resource ${mapping?.resource}/${name} is missing the ${lastAppliedAnnotation} annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.`,
  );
}

/** What must change so that the object is as the manifest says, and what the last one said and this one does not is gone. */
function patchOf(
  current: KubeObject,
  modified: KubeObject,
  overwrite: boolean,
): { patch: KubeObject; type: "merge" | "strategic" } {
  const annotations = metadataOf(current).annotations;
  const noted = isObject(annotations) ? stringIn(annotations[lastAppliedAnnotation]) : "";
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
