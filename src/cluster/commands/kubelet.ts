import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { kubeletFlags } from "../alone/kubelet-flags.ts";
import { kubeletSettings } from "../alone/kubelet-settings.ts";
import { runKubelet } from "../alone/run-kubelet.ts";

export const kubeletCommand: Command = {
  use: "kubelet [FLAGS]",
  help: [
    "Runs the pods that are bound to this machine, as kubelet does on each node, on any container runtime that speaks CRI. Needs root.",
    "It has no network of its own: the runtime calls CNI plugins, which somebody configures, and knarr proxy carries traffic for services.",
    "",
    flagsHelp(kubeletFlags),
    "",
    "Examples:",
    "  knarr kubelet --kubeconfig kubelet.conf --config kubelet.yaml",
    "  knarr kubelet --bootstrap-kubeconfig bootstrap.conf --kubeconfig kubelet.conf --rotate-server-certificates",
    "  knarr kubelet --kubeconfig kubelet.conf --pod-manifest-path /etc/kubernetes/manifests --node-labels disk=ssd",
  ].join("\n"),
  async run(args) {
    const { flags, rest } = parseFlags(kubeletFlags, args);
    if (rest.length > 0) throw new UsageError(`kubelet takes no arguments, got ${JSON.stringify(rest[0])}`);
    await runKubelet(kubeletSettings(flags));
  },
};
