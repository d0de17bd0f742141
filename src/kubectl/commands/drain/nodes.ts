// What cordon, uncordon and drain have in common (upstream: kubectl/pkg/cmd/drain/drain.go).
import { KubectlError, usageError } from "../../errors.ts";
import type { FlagDeclarations } from "../../flags.ts";
import { metadataOf, patchInfo, type ResourceInfo } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { Session } from "../../session.ts";
import { specOf } from "../../workloads/pods.ts";
import { type DryRun, dryRunFlag } from "../../write-options.ts";

export const nodeFlags = {
  ...dryRunFlag,
  selector: { type: "string", short: "l", help: "Nodes with labels like this." },
} as const satisfies FlagDeclarations;

export const dryRunNote = (dryRun: DryRun): string =>
  dryRun === "none" ? "" : dryRun === "client" ? " (dry run)" : " (server dry run)";

/** The nodes that are named or selected. Throws KubectlError. */
export async function nodesFor(
  session: Session,
  args: readonly string[],
  selector: string,
  usage: { readonly use: string; readonly commandPath: string; readonly isSelected: boolean },
): Promise<readonly ResourceInfo[]> {
  if (args.length === 0 && !usage.isSelected) throw usageError(`USAGE: ${usage.use} [flags]`, usage.commandPath);
  if (args.length > 0 && selector !== "")
    throw usageError("error: cannot specify both a node name and a --selector option", usage.commandPath);
  const options =
    selector === "" ? { args, defaultType: "nodes" } : { args: ["nodes"], labelSelector: selector, chunkSize: 500 };
  const query = await ResourceQuery.of(session, { ...options, singleResourceType: true, flatten: true });
  const infos = await query.infos();
  const other = infos.find(({ mapping }) => mapping?.resource !== "nodes" || mapping.group !== "");
  if (other) {
    const { group = "", version = "", resource = "" } = other.mapping ?? {};
    throw new KubectlError(
      `error: expected resource of type node, got ${JSON.stringify(`${group}/${version}, Resource=${resource}`)}`,
    );
  }
  return infos;
}

/** Makes nodes take no new pods, or take them again; what fails is said and the rest is done. */
export async function cordon(
  session: Session,
  infos: readonly ResourceInfo[],
  isWanted: boolean,
  dryRun: DryRun,
): Promise<void> {
  const verb = isWanted ? "cordon" : "uncordon";
  const client = await session.client();
  for (const info of infos) {
    const { name } = metadataOf(info.object);
    if ((specOf(info.object ?? {}).unschedulable === true) === isWanted) {
      session.print(`node/${name} already ${verb}ed${dryRunNote(dryRun)}`);
      continue;
    }
    try {
      const patch = JSON.stringify({ spec: { unschedulable: isWanted ? true : null } });
      if (dryRun !== "client")
        await patchInfo(client, info, "application/strategic-merge-patch+json", patch, {
          isDryRun: dryRun === "server",
        });
      session.print(`node/${name} ${verb}ed${dryRunNote(dryRun)}`);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      session.printError(`error: unable to ${verb} node ${JSON.stringify(name)}: ${error.message}`);
    }
  }
}
