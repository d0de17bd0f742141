// The packet filter of a node, by the programs nft and conntrack, run inside the node's network namespace.
import { spawn } from "node:child_process";
import type { PacketFilter, StaleFlow } from "../proxy.ts";

/** `prefix` is what enters the node: `["nsenter", "--net=/run/netns/x"]`, or nothing where the machine itself is the node. */
export function nftFilter(prefix: readonly string[] = []): PacketFilter {
  return {
    apply: (script, signal) => run([...prefix, "nft", "-f", "-"], script, signal),
    async forgetFlows(flows, signal) {
      for (const flow of flows) await run([...prefix, "conntrack", ...deletion(flow)], "", signal, nothingToDelete);
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
  "--dst-nat",
  target,
];

const nothingToDelete = /0 flow entries have been deleted/;

/** Rejects with what the program said, unless it is something that does not matter. */
function run(command: readonly string[], input: string, signal: AbortSignal, harmless?: RegExp): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const [program = "", ...args] = command;
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "pipe"], signal });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (said.length < 4_096) said += text;
  });
  child.once("error", (cause) => reject(new Error(`run ${command.join(" ")}`, { cause })));
  child.once("close", (code) =>
    code === 0 || harmless?.test(said) ? resolve() : reject(new Error(`${command.join(" ")}: ${said.trim()}`)),
  );
  child.stdin.on("error", () => undefined); // it ended before it read all: what it said tells why
  child.stdin.end(input);
  return promise;
}
