// Upstream: kubectl/pkg/cmd/edit/edit.go.
import { isDeepStrictEqual } from "node:util";
import { PatchError } from "#schema/patch/error.ts";
import { createMergePatch } from "#schema/patch/merge-patch.ts";
import { createStrategicPatch, requireUnchanged } from "#schema/patch/strategic-diff.ts";
import { builtInStruct } from "../apply/built-in-struct.ts";
import { patchContentTypes } from "../apply/patch-object.ts";
import { command } from "../command.ts";
import { editObjects } from "../edit/edit-loop.ts";
import { KubectlError } from "../errors.ts";
import { goJson } from "../go/json.ts";
import { outputPrinter, printFlags } from "../printers/output.ts";
import { metadataOf, patchInfo, type ResourceInfo } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import {
  annotated,
  changeCauseAnnotation,
  fieldManagerFlag,
  fieldValidationOf,
  filenameFlags,
  printObject,
  recordFlag,
  saveConfigFlag,
  validateFlag,
  withSavedConfig,
} from "../write-options.ts";
import { commandLine } from "./command-line.ts";

export const edit = command({
  use: "edit (RESOURCE/NAME | -f FILENAME)",
  long: "Edit objects of the server in an editor: KUBE_EDITOR, EDITOR or vi. What the server refuses is shown again with the reason.",
  examples: `  # Edit a service
  kubectl edit svc/web

  # Edit a deployment as JSON with another editor
  KUBE_EDITOR=nano kubectl edit deploy/web -o json`,
  flags: {
    ...printFlags,
    ...filenameFlags,
    ...recordFlag,
    ...saveConfigFlag,
    ...validateFlag,
    ...fieldManagerFlag("kubectl-edit"),
    "output-patch": { type: "bool", help: "Show the patch that is sent." },
    subresource: { type: "string", help: "The part of the object to edit, such as status or scale." },
    "windows-line-endings": { type: "bool", help: "End lines as Windows does." },
  },
  run: async (session, args, flags, invocation) => {
    const printed = (operation: string, object: KubeObject) =>
      printObject(session, outputPrinter(flags, { operation, cwd: session.io.cwd }), object);
    const fieldValidation = fieldValidationOf(flags.validate);
    const query = await ResourceQuery.of(session, {
      args,
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      subresource: flags.subresource,
      allowEmptySelector: true,
      latest: true,
      continueOnError: true,
      flatten: true,
    });
    const infos = await query.infos();
    if (infos.length === 0) throw new KubectlError("edit cancelled, no objects found");
    await editObjects(session, infos, {
      purpose: "object",
      format: flags.output,
      subresource: flags.subresource,
      usesWindowsLines: flags["windows-line-endings"],
      retries: true,
      save: async (edited, original) => {
        if (!original) throw new KubectlError(`no original object found for ${goJson(edited.object)}`);
        const before = original.object ?? {};
        let after = withManagedFields(edited.object ?? {}, before);
        after = withSavedConfig(after, flags["save-config"]);
        if (flags.record) after = annotated(after, changeCauseAnnotation, commandLine(invocation));
        if (isDeepStrictEqual(before, after)) return printed("skipped", after);
        const { patch, type } = patchBetween(before, after);
        const text = goJson(patch);
        if (flags["output-patch"]) session.print(`Patch: ${text}`);
        const options = { fieldManager: flags["field-manager"], fieldValidation };
        const place: ResourceInfo = { ...edited, subresource: flags.subresource };
        printed("edited", await patchInfo(await session.client(), place, patchContentTypes[type], text, options));
      },
    });
  },
});

/** The file shows no managed fields, and leaves them alone. */
function withManagedFields(object: KubeObject, before: KubeObject): KubeObject {
  const { managedFields } = metadataOf(before);
  if (managedFields === undefined) return object;
  return { ...object, metadata: { ...metadataOf(object), managedFields } };
}

function patchBetween(before: KubeObject, after: KubeObject): { patch: KubeObject; type: "merge" | "strategic" } {
  const struct = builtInStruct(after);
  try {
    const patch = struct ? createStrategicPatch(struct, before, after) : createMergePatch(before, after);
    requireUnchanged(patch, "apiVersion", "kind", "metadata.name", "managedFields");
    return { patch, type: struct ? "strategic" : "merge" };
  } catch (cause) {
    if (!(cause instanceof PatchError)) throw cause;
    const isIdentity = cause.message.startsWith("precondition failed");
    throw new KubectlError(isIdentity ? "At least one of apiVersion, kind and name was changed" : cause.message, {
      cause,
    });
  }
}
