// Removes entries of the kernel's connection tracking, by the program conntrack. Upstream does it by netlink.
// Upstream: pkg/proxy/conntrack/conntrack.go.
import { inBatches } from "#base/collections.ts";
import { ProgramFailed } from "#base/host/run-program.ts";
import type { RunOnNode } from "../proxy-mode.ts";
import type { ConnectionTracking, StaleFlow } from "../stale-flows.ts";

const programsAtOnce = 4;

export const conntrack = (run: RunOnNode): ConnectionTracking => ({
  async forget(flows, signal) {
    await inBatches(programsAtOnce, flows, async (flow) => {
      try {
        await run(["conntrack", ...deletion(flow)], { signal });
      } catch (error) {
        if (!(error instanceof ProgramFailed && nothingToDelete.test(error.said))) throw error;
      }
    });
  },
});

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
