// Upstream: kubectl/pkg/cmd/apply/apply.go.
import { isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { ApplySet } from "../../apply/apply-set.ts";
import { describeInfo, lastApplied, patchApplied } from "../../apply/client-side.ts";
import { allowedMappings, deletePruned, prunable, prunedMappings } from "../../apply/prune.ts";
import { applyByServer, serverSideManager } from "../../apply/server-side.ts";
import { command, type Invocation } from "../../command.ts";
import { KubectlError, throwAll, usageError, withSource } from "../../errors.ts";
import { outputPrinter } from "../../printers/output.ts";
import { createInfo, getInfo, metadataOf, type ResourceInfo, refreshInfo } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import {
  annotated,
  appliedConfiguration,
  changeCauseAnnotation,
  lastAppliedAnnotation,
  operationText,
  printObject,
  type WriteSettings,
  writeSettings,
} from "../../write-options.ts";
import { commandLine } from "../command-line.ts";
import { deletionOptions, propagationOf } from "../delete-flags.ts";
import { manifestInfos } from "../manifest-infos.ts";
import { type ApplyFlags, applyFlags, checkApplyFlags } from "./flags.ts";

export const apply = command({
  use: "apply (-f FILENAME | -k DIRECTORY)",
  long: "Bring objects to what manifests say. What is not there is created; what others have added stays.",
  examples: `  # Apply a file
  kubectl apply -f pod.yaml

  # Let the server merge
  kubectl apply --server-side -f pod.yaml

  # Delete what was applied before and is in the folder no more
  kubectl apply --prune -f manifests/ -l app=web`,
  flags: applyFlags,
  subcommands: [
    {
      name: "edit-last-applied",
      short: "Edit what the last apply noted",
      load: async () => (await import("./edit-last-applied.ts")).editLastApplied,
    },
    {
      name: "set-last-applied",
      short: "Note a file as what was applied last",
      load: async () => (await import("./set-last-applied.ts")).setLastApplied,
    },
    {
      name: "view-last-applied",
      short: "Show what the last apply noted",
      load: async () => (await import("./view-last-applied.ts")).viewLastApplied,
    },
  ],
  run: async (session, args, flags, invocation) => {
    if (args.length > 0) throw usageError(`Unexpected args: [${args.join(" ")}]`, invocation.commandPath);
    const isServerSide = flags["server-side"];
    const manager = invocation.changed.has("field-manager")
      ? flags["field-manager"]
      : isServerSide
        ? serverSideManager
        : flags["field-manager"];
    const settings = writeSettings(session, { ...flags, "field-manager": manager }, "applied");
    if (flags.filename.length === 0 && flags.kustomize === "") throw new KubectlError("must specify one of -f and -k");
    const applySet = flags.applyset === "" ? undefined : await ApplySet.of(session, flags.applyset);
    const allowed = flags.prune ? await allowedMappings(session, flags["prune-allowlist"]) : [];
    propagationOf(session, flags.cascade);
    await checkApplyFlags(flags, settings.dryRun, applySet, allowed.length);
    const run = new ApplyRun(session, flags, settings, invocation, applySet);
    await run.applyAll();
    run.printTogether();
    if (flags.prune) await run.prune(allowed);
  },
});

class ApplyRun {
  readonly #session: Session;
  readonly #flags: ApplyFlags;
  readonly #settings: WriteSettings;
  readonly #invocation: Invocation<typeof applyFlags>;
  readonly #applySet: ApplySet | undefined;
  readonly #visitedUids = new Set<unknown>();
  readonly #namespaces = new Set<string>();
  readonly #applied: KubeObject[] = [];

  constructor(
    session: Session,
    flags: ApplyFlags,
    settings: WriteSettings,
    invocation: Invocation<typeof applyFlags>,
    applySet: ApplySet | undefined,
  ) {
    this.#session = session;
    this.#flags = flags;
    this.#settings = settings;
    this.#invocation = invocation;
    this.#applySet = applySet;
  }

  /** Throws all that went wrong, after everything was tried. */
  async applyAll(): Promise<void> {
    const session = this.#session;
    if (await session.isNamespaceEnforced()) this.#namespaces.add(await session.namespace());
    const { infos, errors } = await manifestInfos(session, this.#flags);
    if (infos.length === 0 && errors.length === 0) throw new KubectlError("no objects passed to apply");
    const { dryRun, options } = this.#settings;
    if (this.#applySet) {
      for (const info of infos) info.object = this.#applySet.labelled(info.object ?? {});
      await this.#applySet.begin(infos, dryRun, options);
    }
    const problems = [...errors];
    for (const info of infos)
      try {
        await this.#applyOne(info);
      } catch (error) {
        if (!(error instanceof Error) || session.io.signal.aborted) throw error;
        problems.push(error);
      }
    throwAll(problems);
  }

  async #applyOne(info: ResourceInfo): Promise<void> {
    const { mapping, namespace } = info;
    if (mapping?.isNamespaced) this.#namespaces.add(namespace);
    if (this.#flags.record)
      info.object = annotated(info.object ?? {}, changeCauseAnnotation, commandLine(this.#invocation));
    const { generateName } = metadataOf(info.object);
    if (info.name === "" && typeof generateName === "string")
      throw new KubectlError(`from ${generateName}: cannot use generate name with apply`);
    let what = "serverside-applied";
    if (this.#flags["server-side"]) {
      const placed = { ...info, subresource: this.#flags.subresource };
      await applyByServer(this.#session, placed, this.#settings.options, this.#flags["force-conflicts"]);
      info.object = placed.object;
      warnIfDeleting(this.#session, info.object);
    } else what = await this.#applyByClient(info);
    this.#visitedUids.add(metadataOf(info.object).uid);
    if (this.#printsTogether) this.#applied.push(info.object ?? {});
    else this.#print(info.object ?? {}, what);
  }

  /** What happened: `created`, `configured` or `unchanged`. */
  async #applyByClient(info: ResourceInfo): Promise<string> {
    const session = this.#session;
    const { options, dryRun } = this.#settings;
    const wanted = info.object ?? {};
    const modified = annotated(wanted, lastAppliedAnnotation, appliedConfiguration(wanted));
    const client = await session.client();
    let current: KubeObject;
    try {
      current = await getInfo(client, info);
    } catch (error) {
      if (!isNotFound(error))
        throw withSource(
          `retrieving current configuration of:\n${describeInfo(info)}\nfrom server for:`,
          info.source,
          error,
        );
      info.object = withoutNulls(modified) as KubeObject;
      if (dryRun === "client") return "created";
      try {
        refreshInfo(info, await createInfo(client, info, options));
      } catch (refused) {
        throw withSource("creating", info.source, refused);
      }
      return "created";
    }
    info.object = current;
    warnIfNotApplied(session, info, current);
    const { force, timeout, cascade, overwrite, "grace-period": grace } = this.#flags;
    const deletion = deletionOptions(grace, propagationOf(session, cascade));
    const { patch, object } = await patchApplied(session, info, current, modified, {
      overwrite,
      options,
      isLocal: dryRun === "client",
      ...(force && { force: { deletion, timeout } }),
    });
    refreshInfo(info, object);
    warnIfDeleting(session, object);
    return patch === "{}" ? "unchanged" : "configured";
  }

  get #printsTogether(): boolean {
    return this.#flags.output !== "" && this.#flags.output !== "name";
  }

  #print(object: KubeObject, what: string): void {
    const operation = operationText(what, this.#settings.dryRun);
    printObject(this.#session, outputPrinter(this.#flags, { operation, cwd: this.#session.io.cwd }), object);
  }

  /** Several objects are printed as a list. */
  printTogether(): void {
    const [first, ...others] = this.#applied;
    if (!first) return;
    const list = { apiVersion: "v1", items: this.#applied, kind: "List", metadata: { resourceVersion: "" } };
    printObject(this.#session, this.#settings.printer, others.length === 0 ? first : list);
  }

  async prune(allowed: Awaited<ReturnType<typeof allowedMappings>>): Promise<void> {
    const session = this.#session;
    const { dryRun, options } = this.#settings;
    const { cascade, "grace-period": grace, selector } = this.#flags;
    const deletion = deletionOptions(grace, propagationOf(session, cascade));
    const client = await session.client();
    const found = this.#applySet
      ? this.#applySet.leftovers(this.#visitedUids)
      : prunable(client, {
          mappings: await prunedMappings(session, allowed),
          namespaces: this.#namespaces,
          labelSelector: selector,
          visitedUids: this.#visitedUids,
        });
    for await (const info of found) {
      if (dryRun !== "client") await deletePruned(client, info, deletion, dryRun === "server");
      this.#print(info.object ?? {}, "pruned");
    }
    await this.#applySet?.finish(dryRun, options);
  }
}

function warnIfDeleting(session: Session, object: KubeObject | undefined): void {
  const { deletionTimestamp, name } = metadataOf(object);
  if (deletionTimestamp !== undefined)
    session.printError(`Warning: Detected changes to resource ${name} which is currently being deleted.`);
}

function warnIfNotApplied(session: Session, { mapping, name }: ResourceInfo, current: KubeObject): void {
  if (lastApplied(current) !== undefined) return;
  session.printError(
    `Warning: resource ${mapping?.resource}/${name} is missing the ${lastAppliedAnnotation} annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.`,
  );
}

/** An object that is created has no use for fields that say null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [[key, withoutNulls(one)]])),
  );
}
