// Upstream: kubectl/pkg/cmd/replace/replace.go.
import { isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { command } from "../command.ts";
import { KubectlError, withSource } from "../errors.ts";
import { outputPrinter } from "../printers/output.ts";
import {
  createInfo,
  deleteInfo,
  getInfo,
  isNamespaced,
  metadataOf,
  type ResourceInfo,
  refreshInfo,
  replaceInfo,
} from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { Session } from "../session.ts";
import {
  annotated,
  changeCauseAnnotation,
  fieldManagerFlag,
  filenameFlags,
  lastAppliedAnnotation,
  operationText,
  printObject,
  recordFlag,
  saveConfigFlag,
  validateFlag,
  withSavedConfig,
  writeSettings,
  writtenFlags,
} from "../write-options.ts";
import { commandLine } from "./command-line.ts";
import { cascadeFlags, deletionOptions } from "./delete-flags.ts";
import { optionalValidate } from "./manifest-infos.ts";
import { rawFlag, sendRaw } from "./raw-request.ts";

export const replace = command({
  use: "replace -f FILENAME",
  long: "Replace objects by what manifests say; with --force, delete and create them anew.",
  flags: {
    ...writtenFlags,
    ...filenameFlags,
    ...fieldManagerFlag("kubectl-replace"),
    ...saveConfigFlag,
    ...validateFlag,
    ...cascadeFlags,
    ...rawFlag,
    ...recordFlag,
    force: { type: "bool", help: "Delete the objects, and create them anew." },
    subresource: { type: "string", help: "The part of the object to replace, such as status or scale." },
    wait: { type: "bool", help: "With --force, wait until the objects are gone; it always does." },
  },
  run: async (session, _, flags, invocation) => {
    if (flags["grace-period"] >= 0 && !flags.force)
      throw new KubectlError("--grace-period must have --force specified");
    if (flags.timeout !== 0n && !flags.force) throw new KubectlError("--timeout must have --force specified");
    if (flags.filename.length === 0 && flags.kustomize === "") throw new KubectlError("must specify one of -f and -k");
    if (flags.raw !== "") return sendRaw(session, "PUT", flags);
    const settings = writeSettings(session, flags, "replaced");
    if (flags.force && settings.dryRun !== "none")
      throw new KubectlError("--dry-run can not be used when --force is set");
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      subresource: flags.subresource,
      continueOnError: true,
      flatten: true,
      ...optionalValidate(session, flags.validate),
    });
    const client = await session.client();
    let count = 0;
    await query.visit(async (info) => {
      count++;
      const saved = withSavedConfig(info.object ?? {}, flags["save-config"] || hasSavedConfig(info));
      const wanted = flags.record ? annotated(saved, changeCauseAnnotation, commandLine(invocation)) : saved;
      info.object = wanted;
      try {
        if (flags.force) {
          await removeFirst(session, info, flags);
          info.object = wanted;
          refreshInfo(info, await createInfo(client, info, settings.options));
        } else if (settings.dryRun !== "client")
          refreshInfo(info, await replaceInfo(client, await atVersion(session, info), settings.options));
      } catch (error) {
        throw withSource("replacing", info.source, error);
      }
      const operation = operationText("replaced", settings.dryRun);
      printObject(session, outputPrinter(flags, { operation, cwd: session.io.cwd }), info.object ?? {});
    });
    if (count === 0) throw new KubectlError("no objects passed to replace");
  },
});

const hasSavedConfig = ({ object }: ResourceInfo): boolean => {
  const { annotations } = metadataOf(object);
  return isObject(annotations) && Object.hasOwn(annotations, lastAppliedAnnotation);
};

/** A manifest without a version replaces whatever there is: some kinds can only be updated with one. */
async function atVersion(session: Session, info: ResourceInfo): Promise<ResourceInfo> {
  const metadata = metadataOf(info.object);
  if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== "") return info;
  const { resourceVersion } = metadataOf(await getInfo(await session.client(), info));
  return { ...info, object: { ...info.object, metadata: { ...metadata, resourceVersion } } };
}

const policies: Readonly<Record<string, string>> = {
  background: "Background",
  foreground: "Foreground",
  orphan: "Orphan",
};
/** How often it is looked whether an object is still there. */
const lookMs = 500;

/** How long to wait for an object to go, unless `--timeout` says otherwise. */
const usualWaitMs = 5 * 60 * 1000;

interface RemovalFlags {
  readonly "grace-period": number;
  readonly cascade: string;
  readonly timeout: bigint;
}

async function removeFirst(session: Session, info: ResourceInfo, flags: RemovalFlags): Promise<void> {
  const { "grace-period": graceSeconds, cascade, timeout } = flags;
  const { clock, signal } = session.io;
  const propagationPolicy = policies[cascade];
  if (propagationPolicy === undefined)
    throw new KubectlError(`invalid cascade value (${cascade}). Must be "background", "foreground", or "orphan"`);
  const client = await session.client();
  try {
    // As with delete, 0 would leave running what the API no longer shows.
    await deleteInfo(client, info, deletionOptions(graceSeconds === 0 ? 1 : graceSeconds, propagationPolicy));
    const where = isNamespaced(info) ? ` from ${info.namespace} namespace` : "";
    session.print(
      `${info.mapping?.kind.toLowerCase()}${info.mapping?.group ? `.${info.mapping.group}` : ""} "${info.name}" deleted${where}`,
    );
    const until = clock.elapsed() + (Number(timeout) / 1e6 || usualWaitMs);
    for (;;) {
      await getInfo(client, info);
      if (clock.elapsed() > until) throw new KubectlError("timed out waiting for the condition");
      await clock.sleep(lookMs, signal);
    }
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
