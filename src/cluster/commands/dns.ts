import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { runDns } from "../alone/run-dns.ts";

const flags = {
  conf: { type: "string", value: "FILE", default: "Corefile", help: "The Corefile" },
  "dns.port": { type: "int", default: 53, help: "Port of zones that name none" },
  kubeconfig: { type: "string", value: "FILE", help: "Cluster to answer for; in a pod, that of the pod" },
} as const;

export const dns: Command = {
  use: "dns [FLAGS]",
  help: [
    "Answers DNS queries as a Corefile says, as CoreDNS does; the add-on dns runs it in pods. Plugins: cache, errors, forward, health,",
    "hosts, kubernetes, loadbalance, log, loop, prometheus, ready, reload, rewrite, template.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    // CoreDNS has its flags with one dash.
    const { flags: settings, rest } = parseFlags(
      flags,
      args.map((arg) => arg.replace(/^-(conf|dns\.port|kubeconfig)(?==|$)/, "--$1")),
    );
    if (rest.length > 0) throw new UsageError(`dns takes no arguments, but was given ${rest.join(" ")}`);
    const port = settings["dns.port"];
    if (port < 1 || port > 65_535) throw new UsageError(`--dns.port: ${port} is no port`);
    await runDns({ corefile: settings.conf, port, kubeconfig: settings.kubeconfig });
  },
};
