import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { cleanUpProxy, coresHere } from "../alone/proxy-node.ts";
import { proxyFlags, proxySettings, withConfiguration } from "../alone/proxy-settings.ts";
import { runProxy } from "../alone/run-proxy.ts";

export const proxyCommand: Command = {
  use: "proxy [FLAGS]",
  help: [
    "Carries traffic for services on this machine, as kube-proxy does on each node. Needs root.",
    "",
    flagsHelp(proxyFlags),
    "",
    "Examples:",
    "  knarr proxy --kubeconfig proxy.conf --proxy-mode nftables --cluster-cidr 10.244.0.0/16",
    "  knarr proxy --config kube-proxy.yaml --hostname-override node-1",
    "  knarr proxy --cleanup",
  ].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(proxyFlags, args);
    if (rest.length > 0) throw new UsageError(`proxy takes no arguments, got ${JSON.stringify(rest[0])}`);
    if (flags.cleanup) {
      await cleanUpProxy();
      print("Nothing of any proxy mode is left.");
      return;
    }
    const settings = proxySettings(withConfiguration(flags, parseFlags(proxyFlags, []).flags), coresHere());
    await runProxy(settings);
  },
};
