// The packet filter of a node, by the programs nft and conntrack, run inside the node's network namespace.
import { inBatches } from "#base/collections.ts";
import { ProgramFailed, runProgram } from "#base/host/run-program.ts";
import type { PacketFilter, StaleFlow } from "../proxy.ts";

const programsAtOnce = 4;

/** `prefix` is what enters the node: `["nsenter", "--net=/run/netns/x"]`, or nothing where the machine itself is the node. */
export function nftFilter(prefix: readonly string[] = []): PacketFilter {
  return {
    async apply(script, signal) {
      await runProgram([...prefix, "nft", "-f", "-"], { input: script, signal });
    },
    async forgetFlows(flows, signal) {
      await inBatches(programsAtOnce, flows, async (flow) => {
        try {
          await runProgram([...prefix, "conntrack", ...deletion(flow)], { signal });
        } catch (error) {
          if (!(error instanceof ProgramFailed && nothingToDelete.test(error.said))) throw error;
        }
      });
    },
  };
}

const deletion = ({ family, address, port, target }: StaleFlow): readonly string[] => [
  "--delete",
  "--family",
  family === "IPv6" ? "ipv6" : "ipv4",
  "--proto",
  "udp",
  ...(address === undefined ? [] : ["--orig-dst", address]),
  "--orig-port-dst",
  String(port),
  ...(target === undefined ? [] : ["--dst-nat", target]),
];

const nothingToDelete = /0 flow entries have been deleted/;
