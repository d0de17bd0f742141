// `kubectl label` and `kubectl annotate`, which differ in little but the field they change
// (upstream: kubectl/pkg/cmd/label/label.go and annotate/annotate.go).
import { equal } from "#base/collections.ts";
import { labelValue, qualifiedName } from "#schema/formats.ts";
import { createMergePatch } from "#schema/patch/merge-patch.ts";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations } from "../flags.ts";
import { goJson } from "../go/json.ts";
import { outputPrinter } from "../printers/output.ts";
import { metadataOf, patchInfo, type ResourceInfo } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import {
  fieldManagerFlag,
  filenameFlags,
  operationText,
  printObject,
  recordFlag,
  type WriteSettings,
  writeSettings,
  writtenFlags,
} from "../write-options.ts";

const noteFlags = {
  ...writtenFlags,
  ...filenameFlags,
  ...recordFlag,
  all: { type: "bool", help: "All objects of the types, in the namespace." },
  "all-namespaces": { type: "bool", short: "A", help: "In all namespaces." },
  "field-selector": { type: "string", help: "Only objects with these fields." },
  list: { type: "bool", help: "Print what there is, after the changes." },
  local: { type: "bool", help: "Change the objects of the files, without asking a server." },
  overwrite: { type: "bool", help: "Change what has a value already." },
  "resource-version": { type: "string", help: "Only if the object is at this version." },
  selector: { type: "string", short: "l", help: "Only objects with these labels." },
} as const satisfies FlagDeclarations;

interface NoteKind {
  readonly field: "labels" | "annotations";
  readonly noun: "label" | "annotation";
  readonly done: "labeled" | "annotated";
  readonly manager: string;
}

const noteCommand = (kind: NoteKind, use: string, long: string) =>
  command({
    use,
    long,
    flags: { ...noteFlags, ...fieldManagerFlag(kind.manager) },
    run: async (session, args, flags) => {
      const { resources, changes } = splitChanges(args, kind);
      if (changes.size === 0 && !flags.list) throw new KubectlError(`at least one ${kind.noun} update is required`);
      if (flags.all && flags.selector !== "")
        throw new KubectlError("cannot set --all and --selector at the same time");
      const settings = writeSettings(session, flags, kind.done);
      const query = await ResourceQuery.of(session, {
        filenames: flags.filename,
        isRecursive: flags.recursive,
        kustomize: flags.kustomize,
        args: resources,
        labelSelector: flags.selector,
        fieldSelector: flags["field-selector"],
        selectAll: flags.all,
        allNamespaces: flags["all-namespaces"],
        chunkSize: 0,
        continueOnError: true,
        flatten: true,
        isLocal: flags.local,
      });
      const request = { kind, changes, overwrite: flags.overwrite, resourceVersion: flags["resource-version"] };
      await query.visit(async (info) => {
        const before = info.object ?? {};
        const after = changed(before, request);
        if (kind.noun === "label")
          for (const key of missingKeys(before, request)) session.print(`label ${JSON.stringify(key)} not found.`);
        const what = changeText(before, after, request);
        const isSame = kind.noun === "label" && equal(notesOf(before, kind), notesOf(after, kind));
        if (changes.size > 0 && !isSame) info.object = await store(session, info, before, after, settings, flags.local);
        if (flags.list) return listNotes(session, info, kind, query.isSingle);
        const printer = outputPrinter(flags, { operation: operationText(what, settings.dryRun), cwd: session.io.cwd });
        printObject(session, printer, info.object ?? {});
      });
    },
  });

export const label = noteCommand(
  { field: "labels", noun: "label", done: "labeled", manager: "kubectl-label" },
  "label [--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [--resource-version=version]",
  "Change the labels of objects. A key with a minus behind it is removed.",
);
export const annotate = noteCommand(
  { field: "annotations", noun: "annotation", done: "annotated", manager: "kubectl-annotate" },
  "annotate [--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [--resource-version=version]",
  "Change the annotations of objects. A key with a minus behind it is removed.",
);

/** Keys with their new values; undefined for those that go. */
type NoteChanges = ReadonlyMap<string, string | undefined>;

interface NoteRequest {
  readonly kind: NoteKind;
  readonly changes: NoteChanges;
  readonly overwrite: boolean;
  readonly resourceVersion: string;
}

function splitChanges(args: readonly string[], kind: NoteKind): { resources: readonly string[]; changes: NoteChanges } {
  const isChange = (arg: string) => (arg.includes("=") && !arg.startsWith("=")) || /.-$/.test(arg);
  const first = args.findIndex(isChange);
  const resources = first < 0 ? args : args.slice(0, first);
  const changes = new Map<string, string | undefined>();
  const removed = new Set<string>();
  for (const arg of first < 0 ? [] : args.slice(first)) {
    if (!isChange(arg)) throw new KubectlError(`all resources must be specified before ${kind.noun} changes: ${arg}`);
    const at = arg.indexOf("=");
    if (at >= 0) changes.set(arg.slice(0, at), checkedValue(arg.slice(0, at), arg.slice(at + 1), kind));
    else removed.add(arg.slice(0, -1));
  }
  for (const key of removed) {
    if (changes.has(key))
      throw new KubectlError(
        `can not both modify and remove ${kind.noun === "label" ? "a label" : "an annotation"} in the same command`,
      );
    changes.set(key, undefined);
  }
  return { resources, changes };
}

function checkedValue(key: string, value: string, { noun }: NoteKind): string {
  const keyProblems = qualifiedName(key);
  if (keyProblems.length > 0)
    throw new KubectlError(`invalid ${noun} key ${JSON.stringify(key)}: ${keyProblems.join(";")}`);
  if (noun === "label") {
    const problems = labelValue(value);
    if (problems.length > 0)
      throw new KubectlError(`invalid label value: ${JSON.stringify(`${key}=${value}`)}: ${problems.join(";")}`);
  }
  return value;
}

const notesOf = (object: KubeObject, { field }: NoteKind): Readonly<Record<string, string>> =>
  (metadataOf(object)[field] ?? {}) as Readonly<Record<string, string>>;

function changed(object: KubeObject, { kind, changes, overwrite, resourceVersion }: NoteRequest): KubeObject {
  const notes: Record<string, string> = { ...notesOf(object, kind) };
  if (!overwrite) {
    const taken = [...changes].filter(
      ([key, value]) => value !== undefined && Object.hasOwn(notes, key) && notes[key] !== value,
    );
    if (taken.length > 0)
      throw new KubectlError(
        kind.noun === "label"
          ? taken.map(([key]) => `'${key}' already has a value (${notes[key]}), and --overwrite is false`).join("; ")
          : `--overwrite is false but found the following declared annotation(s): ${taken.map(([key]) => `'${key}' already has a value (${notes[key]})`).join("; ")}`,
      );
  }
  for (const [key, value] of changes)
    if (value === undefined) delete notes[key];
    else notes[key] = value;
  const { [kind.field]: _, ...metadata } = metadataOf(object);
  const version = resourceVersion === "" ? {} : { resourceVersion };
  return { ...object, metadata: { ...metadata, [kind.field]: notes, ...version } };
}

/** What should go and is not there. */
const missingKeys = (object: KubeObject, { kind, changes }: NoteRequest): readonly string[] =>
  [...changes].flatMap(([key, value]) =>
    value === undefined && !Object.hasOwn(notesOf(object, kind), key) ? [key] : [],
  );

/** What happened: `labeled`, `unlabeled` or `not labeled`. */
function changeText(before: KubeObject, after: KubeObject, { kind, changes }: NoteRequest): string {
  if (kind.noun === "annotation") return kind.done;
  if (equal(notesOf(before, kind), notesOf(after, kind))) return "not labeled";
  const isOnlyRemoval = [...changes.values()].every((value) => value === undefined);
  return isOnlyRemoval ? "unlabeled" : "labeled";
}

async function store(
  session: Session,
  info: ResourceInfo,
  before: KubeObject,
  after: KubeObject,
  settings: WriteSettings,
  isLocal: boolean,
): Promise<KubeObject> {
  if (isLocal || settings.dryRun === "client") return after;
  const difference = createMergePatch(before, after);
  const client = await session.client();
  return patchInfo(client, info, "application/merge-patch+json", goJson(difference), settings.options);
}

/** Of several objects each has a heading. */
function listNotes(
  session: Session,
  { object = {}, mapping, name }: ResourceInfo,
  kind: NoteKind,
  isSingle: boolean,
): void {
  if (!isSingle) session.print(`Listing ${kind.field} for ${mapping?.kind}.${mapping?.group}/${name}:`);
  for (const [key, value] of Object.entries(notesOf(object, kind)))
    session.print(`${isSingle ? "" : " "}${key}=${value}`);
}
