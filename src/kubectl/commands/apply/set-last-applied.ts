// Upstream: kubectl/pkg/cmd/apply/apply_set_last_applied.go.
import { isNotFound } from "#base/errors.ts";
import { describeInfo, lastApplied } from "../../apply/client-side.ts";
import { annotationPatch } from "../../apply/last-applied-patch.ts";
import { command } from "../../command.ts";
import { meaningOf } from "../../edit/edited-file.ts";
import { KubectlError, withSource } from "../../errors.ts";
import { getInfo, patchInfo, type ResourceInfo } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import { printObject, writeSettings, writtenFlags } from "../../write-options.ts";

export const setLastApplied = command({
  use: "set-last-applied -f FILENAME",
  long: "Note a file at its objects as what was applied last, without changing anything else.",
  examples: `  # Note a file, also where nothing was noted yet
  kubectl apply set-last-applied -f deploy.yaml --create-annotation`,
  flags: {
    ...writtenFlags,
    "create-annotation": { type: "bool", help: "Note it also where nothing was noted yet." },
    filename: { type: "stringSlice", short: "f", help: "The manifests: files, folders, addresses, or -." },
  },
  run: async (session, _, flags) => {
    const settings = writeSettings(session, flags, "configured");
    const client = await session.client();
    const query = await ResourceQuery.of(session, { filenames: flags.filename, flatten: true });
    const changes: { readonly info: ResourceInfo; readonly patch: string }[] = [];
    await query.visit(async (info) => {
      const { patch, configuration } = annotationPatch(info.object ?? {});
      try {
        info.object = await getInfo(client, info);
      } catch (error) {
        if (isNotFound(error)) throw error;
        const where = `retrieving current configuration of:\n${describeInfo(info)}\nfrom server for:`;
        throw withSource(where, info.source, error);
      }
      const noted = lastApplied(info.object);
      if (noted === undefined && !flags["create-annotation"])
        throw new KubectlError(
          `no last-applied-configuration annotation found on resource: ${info.name}, to create the annotation, run the command with --create-annotation`,
        );
      if (meaningOf(noted ?? "") === meaningOf(configuration))
        session.print(`set-last-applied ${info.name}: no changes required.`);
      else changes.push({ info, patch });
    });
    for (const { info, patch } of changes) {
      const object =
        settings.dryRun === "client"
          ? info.object
          : await patchInfo(client, info, "application/merge-patch+json", patch, settings.options);
      printObject(session, settings.printer, object ?? {});
    }
  },
});
