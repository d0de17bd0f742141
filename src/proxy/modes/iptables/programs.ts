// The programs of iptables on a node. There are two kinds, which keep their rules in different places of the kernel: one on top of
// nftables, and an older one. The node says by its links which of them it uses.
// Upstream: pkg/util/iptables/iptables.go.
import type { FrontendFamily } from "../../frontends.ts";
import type { RunOnNode } from "../../proxy-mode.ts";
import { type Chains, readSaved } from "./rule-set.ts";

const commands = { IPv4: "iptables", IPv6: "ip6tables" } as const;
const lockSeconds = 5;

export interface IptablesProgram {
  /** All tables that there are. */
  save(signal: AbortSignal): Promise<Chains>;
  /** Leaves alone what the text does not name. */
  restore(text: string, signal: AbortSignal): Promise<void>;
  hasChain(table: string, chain: string, signal: AbortSignal): Promise<boolean>;
}

/** The program that the node uses for the family. Rejects with an error that names it if there is none. */
export async function findProgram(
  run: RunOnNode,
  family: FrontendFamily,
  signal: AbortSignal,
): Promise<IptablesProgram> {
  for (const kind of ["", "-nft", "-legacy"])
    if ((await versionOf(run, `${commands[family]}${kind}`, signal)) !== undefined)
      return programOf(run, `${commands[family]}${kind}`);
  throw new Error(`${commands[family]} is not installed on the node; proxy modes iptables and userspace need it`);
}

/** One program of each kind that the node has: rules may be left where an earlier process used the other one. */
export async function allPrograms(
  run: RunOnNode,
  family: FrontendFamily,
  signal: AbortSignal,
): Promise<readonly IptablesProgram[]> {
  const programs = new Map<string, IptablesProgram>();
  for (const kind of ["-nft", "-legacy", ""]) {
    if (kind === "" && programs.size > 0) break; // a link to one of them
    const command = `${commands[family]}${kind}`;
    const version = await versionOf(run, command, signal);
    if (version === undefined) continue;
    const place = version.includes("nf_tables") ? "nf_tables" : "legacy";
    if (!programs.has(place)) programs.set(place, programOf(run, command));
  }
  return [...programs.values()];
}

async function versionOf(run: RunOnNode, command: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await run([command, "--version"], { signal });
  } catch {
    signal.throwIfAborted();
    return undefined; // it is not installed, or does not run here: either way it has no rules of ours
  }
}

const programOf = (run: RunOnNode, command: string): IptablesProgram => ({
  save: async (signal) => readSaved(await run([`${command}-save`], { signal })),
  async restore(text, signal) {
    if (text === "") return;
    const options = ["-w", String(lockSeconds), "--noflush", "--counters"];
    await run([`${command}-restore`, ...options], { input: text, signal });
  },
  async hasChain(table, chain, signal) {
    try {
      await run([command, "-w", String(lockSeconds), "-t", table, "-S", chain, "1"], { signal });
      return true;
    } catch {
      signal.throwIfAborted();
      return false; // the program says nothing that tells a missing chain from another failure; the rules are made anew then
    }
  },
});
