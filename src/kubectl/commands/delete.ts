// Upstream: kubectl/pkg/cmd/delete/delete.go.
import { isNotFound } from "#base/errors.ts";
import { command } from "../command.ts";
import { KubectlError, withSource } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { readAll } from "../io.ts";
import {
  deleteInfo,
  infoPath,
  isNamespaced,
  metadataOf,
  printedName,
  type ResourceInfo,
} from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { type DryRun, dryRunFlag, dryRunOf, filenameFlags, operationText } from "../write-options.ts";
import { cascadeFlags, propagationOf } from "./delete-flags.ts";
import { rawFlag, sendRaw } from "./raw-request.ts";

const deleteFlags = {
  ...dryRunFlag,
  ...filenameFlags,
  all: { type: "bool", help: "All objects of the types, in the namespace." },
  "all-namespaces": { type: "bool", short: "A", help: "In all namespaces." },
  ...cascadeFlags,
  ...rawFlag,
  "field-selector": { type: "string", help: "Only objects with these fields." },
  "ignore-not-found": { type: "bool", help: "What is not there counts as deleted." },
  interactive: { type: "bool", short: "i", help: "Show what would be deleted, and ask." },
  now: { type: "bool", help: "The same as --grace-period=1." },
  output: { type: "string", short: "o", help: "Output mode; only name is known." },
  selector: { type: "string", short: "l", help: "Only objects with these labels." },
  wait: { type: "bool", default: true, help: "Wait until the objects are gone." },
} as const satisfies FlagDeclarations;
type DeleteFlags = ParsedFlags<typeof deleteFlags>;

interface Deletion {
  readonly dryRun: DryRun;
  readonly graceSeconds: number;
  readonly propagation: string;
  readonly flags: DeleteFlags;
}

export const deleteCommand = command({
  use: "delete ([-f FILENAME] | [-k DIRECTORY] | TYPE [(NAME | -l label | --all)])",
  long: "Delete objects by manifests, by type and name, or by labels.",
  flags: deleteFlags,
  run: async (session, args, flags, { changed }) => {
    const deletion = deletionOf(session, flags);
    if (flags.raw !== "" && flags.interactive) throw new KubectlError("--interactive can not be used with --raw");
    if (flags.raw !== "") return sendRaw(session, "DELETE", flags);
    const isSelected = flags.selector !== "" || flags["field-selector"] !== "" || flags.all;
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      args,
      labelSelector: flags.selector,
      fieldSelector: flags["field-selector"],
      selectAll: flags.all,
      allNamespaces: flags["all-namespaces"],
      chunkSize: 0,
      continueOnError: true,
      flatten: true,
      requireObject: false,
    });
    const ignoresMissing = changed.has("ignore-not-found") ? flags["ignore-not-found"] : isSelected;
    const chosen = flags.interactive ? await confirmed(session, query) : undefined;
    if (chosen && chosen.length === 0) return;
    const deleted: { info: ResourceInfo; uid: unknown }[] = [];
    let count = 0;
    const visit = async (info: ResourceInfo) => {
      const entry: { info: ResourceInfo; uid: unknown } = { info, uid: undefined };
      deleted.push(entry);
      try {
        const answer = await deleteOne(session, info, deletion);
        count++;
        if (answer) entry.uid = uidIn(answer);
      } catch (error) {
        if (!ignoresMissing || !isNotFound(error)) throw withSource("deleting", info.source, error);
      }
    };
    if (chosen) for (const info of chosen) await visit(info);
    else await query.visit(visit);
    if (count === 0 && !(ignoresMissing && !isSelected)) session.print("No resources found");
    if (flags.wait && deletion.dryRun === "none")
      for (const { info, uid } of deleted) await untilGone(session, info, uid, flags.timeout);
  },
});

/** Throws KubectlError for flags that contradict each other. */
function deletionOf(session: Session, flags: DeleteFlags): Deletion {
  const dryRun = dryRunOf(session, flags["dry-run"]);
  if (flags.output !== "" && flags.output !== "name")
    throw new KubectlError(`unexpected -o output mode: ${flags.output}. We only support '-o name'`);
  let graceSeconds = flags["grace-period"];
  if (flags.now) {
    if (graceSeconds !== -1) throw new KubectlError("--now and --grace-period cannot be specified together");
    graceSeconds = 1;
  }
  if (flags.force && graceSeconds < 0) graceSeconds = 0;
  // Only --force deletes at once: a mistaken 0 would leave running what the API no longer shows.
  if (graceSeconds === 0 && !flags.force) graceSeconds = 1;
  if (graceSeconds > 0 && flags.force && flags["grace-period"] > 0)
    throw new KubectlError("--force and --grace-period greater than 0 cannot be specified together");
  if (graceSeconds === 0)
    session.warn(
      "Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.",
    );
  return { dryRun, graceSeconds, propagation: propagationOf(session, flags.cascade), flags };
}

/** The server's answer; undefined where it was not asked. */
async function deleteOne(session: Session, info: ResourceInfo, deletion: Deletion): Promise<KubeObject | undefined> {
  const { dryRun, graceSeconds, propagation } = deletion;
  let answer: KubeObject | undefined;
  if (dryRun !== "client")
    answer = await deleteInfo(await session.client(), info, {
      ...(graceSeconds >= 0 && { gracePeriodSeconds: graceSeconds }),
      propagationPolicy: propagation,
      ...(dryRun === "server" && { dryRun: ["All"] }),
    });
  session.print(deletionText(info, deletion));
  return answer;
}

function deletionText(info: ResourceInfo, { dryRun, graceSeconds, flags }: Deletion): string {
  const { kind = "", group = "" } = info.mapping ?? {};
  const shown = `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}`;
  if (flags.output === "name") return `${shown}/${info.name}`;
  const operation = graceSeconds === 0 ? "force deleted" : "deleted";
  const where = isNamespaced(info) ? ` from ${info.namespace} namespace` : "";
  return `${shown} "${info.name}" ${operationText(`${operation}${where}`, dryRun)}`;
}

/** Shows what would be deleted; what the person agrees to, which is nothing unless they type y. */
async function confirmed(session: Session, query: ResourceQuery): Promise<readonly ResourceInfo[]> {
  const infos = await query.infos();
  session.print(`You are about to delete the following ${infos.length} resource(s):`);
  for (const { mapping, name } of infos) session.print(mapping ? printedName(mapping, name) : name);
  session.io.stdout.write("Do you want to continue? (y/N): ");
  const typed = Buffer.from(await readAll(session.io.stdin, 1024)).toString();
  if (/^\s*y\s*$/im.test(typed.split("\n")[0] ?? "")) return infos;
  session.print("deletion is cancelled");
  return [];
}

const uidIn = (answer: KubeObject): unknown =>
  answer.kind === "Status" ? (answer.details as { uid?: unknown } | undefined)?.uid : metadataOf(answer).uid;

/** How often it is looked whether an object is still there. */
const lookMs = 500;

/** Returns once the object is gone, or another one has its name. */
async function untilGone(session: Session, info: ResourceInfo, uid: unknown, timeout: bigint): Promise<void> {
  const client = await session.client();
  const { clock, signal } = session.io;
  const began = clock.elapsed();
  for (;;) {
    try {
      const object = await client.json({ path: infoPath(info) });
      if (uid !== undefined && metadataOf(object).uid !== uid) return;
    } catch (error) {
      if (isNotFound(error)) return;
      throw error;
    }
    if (timeout > 0n && clock.elapsed() - began > Number(timeout) / 1e6)
      throw new KubectlError(`timed out waiting for the condition on ${info.mapping?.resource}/${info.name}`);
    await clock.sleep(lookMs, signal);
  }
}
