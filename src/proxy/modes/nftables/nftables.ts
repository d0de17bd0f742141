// Services as elements of nftables maps, one table for each address family. Upstream's mode of that name (KEP-3866) has chains for each
// service instead.
// Upstream: pkg/proxy/nftables/proxier.go.
import type { FrontendFamily } from "../../frontends.ts";
import type { FrontendChange, ProxyMode, ProxyModeOptions, RunOnNode } from "../../proxy-mode.ts";
import { type ServiceRules, serviceRules, tableOf } from "./rules.ts";
import { ServiceTable } from "./service-table.ts";

export function nftables(options: ProxyModeOptions): ProxyMode {
  const { run, families, podRanges, masqueradeAll = false, markBit = 0x4000, nodePortRanges = [] } = options;
  const settings = { table: "knarr-proxy", markBit, podRanges, masqueradeAll, nodePortRanges };
  const tables = new Map(families.map((family) => [family, new ServiceTable(family, settings)]));
  /** All commands of a script take effect in one transaction, or none of them. */
  const apply = async (script: string, signal: AbortSignal) => {
    if (script !== "") await run(["nft", "-f", "-"], { input: script, signal });
  };
  const commandsFor = (changes: readonly FrontendChange[]): string =>
    [...tables].map(([family, table]) => table.change(rulesOf(changes, family))).join("");
  return {
    name: "nftables",
    async rewrite(changes, signal) {
      commandsFor(changes);
      await apply([...tables.values()].map((table) => table.rewrite()).join(""), signal);
    },
    change: (changes, signal) => apply(commandsFor(changes), signal),
    async cleanup(signal) {
      if (!(await isInstalled(run, signal))) return;
      // To delete a table that does not exist is an error; to declare one that does is none.
      const names = families.map((family) => tableOf(family, settings));
      await apply(names.map((name) => `table ${name}\ndelete table ${name}\n`).join(""), signal);
    },
  };
}

/** Where the program is missing, nothing can have been left by it. */
async function isInstalled(run: RunOnNode, signal: AbortSignal): Promise<boolean> {
  try {
    await run(["nft", "--version"], { signal });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

const rulesOf = (
  changes: readonly FrontendChange[],
  family: FrontendFamily,
): ReadonlyMap<string, ServiceRules | undefined> =>
  new Map(
    changes
      .filter((change) => change.family === family)
      .map(({ service, frontends }) => [
        service,
        frontends.length === 0 ? undefined : serviceRules(service, frontends, family),
      ]),
  );
