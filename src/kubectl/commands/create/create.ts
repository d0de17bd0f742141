// `kubectl create` (upstream: kubectl/pkg/cmd/create/create.go).
import { command } from "../../command.ts";
import { KubectlError, usageError, withSource } from "../../errors.ts";
import { createInfo, refreshInfo } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import {
  annotated,
  changeCauseAnnotation,
  fieldManagerFlag,
  filenameFlags,
  printObject,
  recordFlag,
  saveConfigFlag,
  validateFlag,
  withSavedConfig,
  writeSettings,
  writtenFlags,
} from "../../write-options.ts";
import { commandLine } from "../command-line.ts";
import { optionalValidate } from "../manifest-infos.ts";
import { rawFlag, sendRaw } from "../raw-request.ts";
import { createEdited } from "./edit-before.ts";
import { createSubcommands } from "./list.ts";

export const create = command({
  use: "create -f FILENAME",
  long: "Create objects from manifests, or from arguments with one of the subcommands.",
  examples: `  # The objects of a file
  kubectl create -f pod.yaml

  # Objects from the standard input
  cat pod.json | kubectl create -f -`,
  flags: {
    ...writtenFlags,
    ...filenameFlags,
    ...fieldManagerFlag("kubectl-create"),
    ...recordFlag,
    ...saveConfigFlag,
    ...validateFlag,
    ...rawFlag,
    edit: { type: "bool", help: "Edit the objects before they are created." },
    selector: { type: "string", short: "l", help: "Only objects with these labels." },
    "windows-line-endings": { type: "bool", help: "With --edit, end lines as Windows does." },
  },
  subcommands: createSubcommands,
  run: async (session, args, flags, invocation) => {
    if (flags.filename.length === 0 && flags.kustomize === "") {
      if (args.length > 0) throw usageError(`Unexpected args: [${args.join(" ")}]`, invocation.commandPath);
      throw new KubectlError("must specify one of -f and -k");
    }
    if (flags.raw !== "" && flags.edit) throw new KubectlError("--raw and --edit are mutually exclusive");
    if (flags.raw !== "") return sendRaw(session, "POST", flags);
    const settings = writeSettings(session, flags, "created");
    const finished = (object: KubeObject) => {
      const saved = withSavedConfig(object, flags["save-config"]);
      return flags.record ? annotated(saved, changeCauseAnnotation, commandLine(invocation)) : saved;
    };
    if (flags.edit) return createEdited(session, flags, settings, finished);
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      labelSelector: flags.selector,
      continueOnError: true,
      flatten: true,
      ...optionalValidate(session, flags.validate),
    });
    let count = 0;
    await query.visit(async (info) => {
      info.object = finished(info.object ?? {});
      if (settings.dryRun !== "client") {
        try {
          refreshInfo(info, await createInfo(await session.client(), info, settings.options));
        } catch (error) {
          throw withSource("creating", info.source, error);
        }
      }
      count++;
      printObject(session, settings.printer, info.object);
    });
    if (count === 0) throw new KubectlError("no objects passed to create");
  },
});
