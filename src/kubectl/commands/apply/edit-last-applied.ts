// Upstream: kubectl/pkg/cmd/apply/apply_edit_last_applied.go.
import { isDeepStrictEqual } from "node:util";
import { lastApplied } from "../../apply/client-side.ts";
import { annotationPatch } from "../../apply/last-applied-patch.ts";
import { command } from "../../command.ts";
import { editObjects, infosIn } from "../../edit/edit-loop.ts";
import { KubectlError } from "../../errors.ts";
import { outputPrinter, printFlags } from "../../printers/output.ts";
import { patchInfo, type ResourceInfo } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import {
  annotated,
  changeCauseAnnotation,
  fieldManagerFlag,
  fieldValidationOf,
  filenameFlags,
  printObject,
  recordFlag,
  validateFlag,
} from "../../write-options.ts";
import { commandLine } from "../command-line.ts";

export const editLastApplied = command({
  use: "edit-last-applied (RESOURCE/NAME | -f FILENAME)",
  long: "Edit what the last apply noted at objects, in an editor. The objects themselves stay as they are.",
  examples: `  # Edit the note at a deployment
  kubectl apply edit-last-applied deployment/web`,
  flags: {
    ...printFlags,
    ...filenameFlags,
    ...recordFlag,
    ...validateFlag,
    ...fieldManagerFlag("kubectl-client-side-apply"),
    "windows-line-endings": { type: "bool", help: "End lines as Windows does." },
  },
  run: async (session, args, flags, invocation) => {
    const query = await ResourceQuery.of(session, {
      args,
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      allowEmptySelector: true,
      latest: true,
      continueOnError: true,
      flatten: true,
    });
    const noted: ResourceInfo[] = [];
    for (const { object } of await query.infos()) {
      const text = lastApplied(object);
      const [info] = text === undefined ? [] : await infosIn(session, text);
      if (info) noted.push(info);
    }
    if (noted.length === 0)
      throw new KubectlError(
        "no last-applied-configuration annotation found on resources, to create the annotation, use command `kubectl apply set-last-applied --create-annotation`",
      );
    const options = { fieldManager: flags["field-manager"], fieldValidation: fieldValidationOf(flags.validate) };
    await editObjects(session, noted, {
      purpose: "last-applied",
      format: flags.output,
      subresource: "",
      usesWindowsLines: flags["windows-line-endings"],
      retries: false,
      save: async (edited, original) => {
        const recorded = flags.record
          ? annotated(edited.object ?? {}, changeCauseAnnotation, commandLine(invocation))
          : (edited.object ?? {});
        const isSame = isDeepStrictEqual(recorded, original?.object);
        if (!isSame)
          await patchInfo(
            await session.client(),
            edited,
            "application/merge-patch+json",
            annotationPatch(recorded).patch,
            options,
          );
        const operation = isSame ? "skipped" : "edited";
        printObject(session, outputPrinter(flags, { operation, cwd: session.io.cwd }), recorded);
      },
    });
  },
});
