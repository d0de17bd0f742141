// Upstream: kubectl/pkg/cmd/patch/patch.go.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { equal } from "#base/collections.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { type PatchFormat, patchContentTypes, patchedObject } from "../apply/patch-object.ts";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import { goJson } from "../go/json.ts";
import { outputPrinter } from "../printers/output.ts";
import { patchInfo, refreshInfo } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import {
  fieldManagerFlag,
  filenameFlags,
  operationText,
  printObject,
  recordFlag,
  writeSettings,
  writtenFlags,
} from "../write-options.ts";

export const patch = command({
  use: "patch (-f FILENAME | TYPE NAME) [-p PATCH|--patch-file FILE]",
  long: "Change fields of objects by a strategic merge patch, a JSON merge patch or a JSON patch.",
  flags: {
    ...writtenFlags,
    ...filenameFlags,
    ...recordFlag,
    ...fieldManagerFlag("kubectl-patch"),
    local: { type: "bool", help: "Patch the objects of the files, without asking a server." },
    patch: { type: "string", short: "p", help: "The patch, in JSON or YAML." },
    "patch-file": { type: "string", help: "File of the patch." },
    subresource: { type: "string", help: "The part of the object to patch, such as status or scale." },
    type: { type: "string", default: "strategic", help: "The type of the patch: json, merge or strategic." },
  },
  run: async (session, args, flags) => {
    const type = flags.type as PatchFormat;
    if (!Object.hasOwn(patchContentTypes, flags.type))
      throw new KubectlError(`--type must be one of [json merge strategic], not ${JSON.stringify(flags.type)}`);
    if (flags.patch !== "" && flags["patch-file"] !== "")
      throw new KubectlError("cannot specify --patch and --patch-file together");
    if (flags.patch === "" && flags["patch-file"] === "")
      throw new KubectlError("must specify --patch or --patch-file containing the contents of the patch");
    const text = flags.patch || readFileSync(resolve(session.io.cwd, flags["patch-file"]), "utf8");
    const document = patchDocument(text);
    const settings = writeSettings(session, flags, "patched");
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      args,
      subresource: flags.subresource,
      continueOnError: true,
      flatten: true,
      isLocal: flags.local,
    });
    const printer = (isChanged: boolean) =>
      outputPrinter(flags, {
        operation: operationText(isChanged ? "patched" : "patched (no change)", settings.dryRun),
        cwd: session.io.cwd,
      });
    let count = 0;
    await query.visit(async (info) => {
      count++;
      const before = info.object ?? {};
      if (flags.local || settings.dryRun === "client") info.object = patchedObject(before, document, type);
      else {
        const client = await session.client();
        refreshInfo(info, await patchInfo(client, info, patchContentTypes[type], goJson(document), settings.options));
      }
      printObject(session, printer(!equal(before, info.object)), info.object ?? {});
    });
    if (count === 0) throw new KubectlError("no objects passed to patch");
  },
});

function patchDocument(text: string): unknown {
  try {
    return parseYaml(text).exactValue();
  } catch (cause) {
    throw new KubectlError(
      `unable to parse ${JSON.stringify(text)}: ${cause instanceof Error ? cause.message : cause}`,
      { cause },
    );
  }
}
