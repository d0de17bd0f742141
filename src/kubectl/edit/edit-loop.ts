// Edit until the objects are right or the person gives up (upstream: kubectl/pkg/cmd/util/editor/editoptions.go).
import { rmSync, statSync } from "node:fs";
import { ApiError, isInvalid, isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { ExitError, KubectlError } from "../errors.ts";
import { goJson } from "../go/json.ts";
import { noPrinter } from "../printers/output.ts";
import { manifestDocuments } from "../resources/manifest-files.ts";
import { metadataOf, quotedName, type ResourceInfo } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { identityProblems } from "../validation/validate-manifest.ts";
import {
  type EditPurpose,
  type EditReason,
  hasContent,
  headerText,
  meaningOf,
  withoutComments,
} from "./edited-file.ts";
import { EditorFailure, editText } from "./editor.ts";

export interface EditRequest {
  readonly purpose: EditPurpose;
  /** `json`, or YAML with comments. */
  readonly format: string;
  readonly subresource: string;
  readonly usesWindowsLines: boolean;
  /** Writes one object that was edited. What it rejects with is noted in the file, which is then shown again, if it can be. */
  save(edited: ResourceInfo, original: ResourceInfo | undefined): Promise<void>;
  /** Whether what the server refuses is noted and edited again. */
  readonly retries: boolean;
}

/** What became of one round. */
interface RoundResult {
  readonly reasons: EditReason[];
  unpatched: number;
  missing: number;
}

/** Rejects with KubectlError if nothing came of it; what was typed is then kept in a file that is named. */
export async function editObjects(
  session: Session,
  infos: readonly ResourceInfo[],
  request: EditRequest,
): Promise<void> {
  if (!["", "json", "yaml", "kyaml"].includes(request.format))
    throw noPrinter(request.format, ["json", "yaml", "kyaml"]);
  const original = objectText(infos, request);
  let reasons: readonly EditReason[] = [];
  let last: { readonly text: string; readonly file: string } | undefined;
  for (;;) {
    const header = request.format === "json" ? "" : headerText(request.purpose, reasons);
    const shown = header + (last ? withoutComments(last.text) : original);
    const edited = await edit(session, windowsLines(shown, request), request.format, last?.file);
    if (last && meaningOf(last.text) === meaningOf(edited.text)) {
      rmSync(last.file, { force: true });
      throw preserved(session, edited.file, new KubectlError("Edit cancelled, no valid changes were saved."));
    }
    if (last) rmSync(last.file, { force: true });
    const invalid = fileProblem(edited.text);
    if (invalid !== undefined) {
      const [first] = infos;
      session.printError(`error: ${first ? quotedName(first) : ""} is invalid`);
      reasons = [
        {
          head: `${first ? quotedName(first) : ""} was not valid`,
          details: [`<nil>: Invalid value: "The edited file failed validation": ${invalid}`],
        },
      ];
      last = edited;
      continue;
    }
    const cancelled =
      meaningOf(original) === meaningOf(edited.text)
        ? "Edit cancelled, no changes made."
        : hasContent(edited.text)
          ? undefined
          : "Edit cancelled, saved file was empty.";
    if (cancelled !== undefined) {
      rmSync(edited.file, { force: true });
      return session.printError(cancelled);
    }
    const result = await saveAll(session, infos, edited, request);
    if (result.unpatched > 0) {
      session.printError(`You can run \`kubectl replace -f ${edited.file}\` to try this update again.`);
      throw new ExitError(1);
    }
    if (result.missing > 0) {
      session.printError(`The edits you made on deleted resources have been saved to ${JSON.stringify(edited.file)}`);
      throw new ExitError(1);
    }
    if (result.reasons.length === 0) return rmSync(edited.file, { force: true });
    reasons = result.reasons;
    last = edited;
  }
}

/** Why the file holds no objects; undefined if it does. */
function fileProblem(text: string): string | undefined {
  try {
    const documents = manifestDocuments(text, "edited-file");
    const problems = documents.length === 0 ? identityProblems({}) : documents.flatMap(identityProblems);
    return problems.length === 0 ? undefined : problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
  } catch (error) {
    if (!(error instanceof KubectlError)) throw error;
    return error.message;
  }
}

function objectText(infos: readonly ResourceInfo[], { format }: EditRequest): string {
  const objects = infos.map(({ object }) => withoutManagedFields(object ?? {}));
  const [first] = objects;
  const shown =
    objects.length === 1 && first ? first : { apiVersion: "v1", items: objects, kind: "List", metadata: {} };
  return format === "json" ? `${goJson(shown, "    ")}\n` : printYaml(shown);
}

function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = metadataOf(object);
  return isObject(object.metadata) ? { ...object, metadata } : object;
}

const windowsLines = (text: string, { usesWindowsLines }: EditRequest): string =>
  usesWindowsLines ? text.replace(/\r?\n/g, "\r\n") : text;

async function edit(session: Session, text: string, format: string, before: string | undefined) {
  try {
    return await editText(session.io, text, format === "json" ? ".json" : ".yaml");
  } catch (error) {
    if (error instanceof EditorFailure) rmSync(error.file, { force: true });
    throw preserved(session, before, error);
  }
}

/** Says where the text is that was typed. */
function preserved(session: Session, file: string | undefined, error: unknown): unknown {
  if (file !== undefined && statSync(file, { throwIfNoEntry: false }))
    session.printError(`A copy of your changes has been stored to ${JSON.stringify(file)}`);
  return error;
}

async function saveAll(
  session: Session,
  originals: readonly ResourceInfo[],
  { text, file }: { readonly text: string; readonly file: string },
  request: EditRequest,
): Promise<RoundResult> {
  const result: RoundResult = { reasons: [], unpatched: 0, missing: 0 };
  let edited: readonly ResourceInfo[];
  try {
    edited = await infosIn(session, text, request.subresource);
  } catch (error) {
    if (!(error instanceof Error) || session.io.signal.aborted) throw error;
    result.reasons.push({ head: `The edited file had a syntax error: ${error.message}`, details: [] });
    return result;
  }
  for (const info of edited) {
    const { uid } = metadataOf(info.object);
    const before = originals.find(({ object }) => metadataOf(object).uid === uid);
    try {
      await request.save(info, before);
    } catch (error) {
      if (!(error instanceof ApiError) || !request.retries) throw preserved(session, file, error);
      session.printError(noted(error, info, result));
    }
  }
  return result;
}

/** The objects of a text, each with its place on the server. */
export const infosIn = async (session: Session, text: string, subresource = ""): Promise<readonly ResourceInfo[]> =>
  (
    await ResourceQuery.of(session, {
      manifests: [{ name: "edited-file", read: async () => text }],
      subresource,
      continueOnError: true,
      flatten: true,
    })
  ).infos();

/** Counts a refusal, and says it. */
function noted(error: ApiError, info: ResourceInfo, result: RoundResult): string {
  const name = quotedName(info);
  if (isInvalid(error)) {
    const causes = error.details?.causes ?? [];
    const details = causes.map(({ field = "", message = "" }) => `${field}: ${message}`);
    result.reasons.push({ head: `${name} was not valid`, details });
    return `error: ${name} is invalid`;
  }
  if (isNotFound(error)) {
    result.missing++;
    return `error: ${name} could not be found on the server`;
  }
  result.unpatched++;
  return `error: ${name} could not be patched: ${error.message}`;
}
