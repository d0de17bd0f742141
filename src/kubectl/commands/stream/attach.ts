// Upstream: kubectl/pkg/cmd/attach/attach.go.
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import { chooseContainer, podMapping, specOf, statusOf } from "../../workloads/pods.ts";
import { attachablePod } from "./exec.ts";
import { runRemote, terminalFor } from "./remote-command.ts";

export const attach = command({
  use: "attach (POD | TYPE/NAME) -c CONTAINER",
  long: "Attach to what already runs in a container.",
  examples: "# See what the default container of a pod prints, and type into it\nkubectl attach web -it",
  flags: {
    container: { type: "string", short: "c", help: "The container; the pod's default or first one unless given." },
    "pod-running-timeout": { type: "duration", default: "1m", help: "How long to wait for a pod." },
    quiet: { type: "bool", short: "q", help: "Print only what the container prints." },
    stdin: { type: "bool", short: "i", help: "Pass the standard input to the container." },
    tty: { type: "bool", short: "t", help: "The standard input is a terminal." },
  },
  async run(session, args, flags) {
    const [name, ...more] = args;
    if (name === undefined) throw new KubectlError("at least 1 argument is required for attach");
    if (more.length > 1)
      throw new KubectlError(
        `expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw ${args.length}: [${args.join(" ")}]`,
      );
    if (flags["pod-running-timeout"] <= 0n) throw new KubectlError("--pod-running-timeout must be higher than zero");
    const wanted = more[0] === undefined ? name : `${name}/${more[0]}`;
    const pod = await attachablePod(session, wanted, [], Number(flags["pod-running-timeout"]) / 1e6);
    const { phase } = statusOf(pod);
    if (phase === "Succeeded" || phase === "Failed")
      throw new KubectlError(`cannot attach a container in a completed pod; current phase is ${phase}`);
    const chosen = chooseContainer(session, pod, flags.container, flags.quiet);
    const list = specOf(pod)[chosen.list];
    const container = (Array.isArray(list) ? list : []).find((one) => isObject(one) && one.name === chosen.name) as
      | Readonly<Record<string, unknown>>
      | undefined;
    if (flags.tty && container?.tty !== true && !flags.quiet)
      session.printError(`error: Unable to use a TTY - container ${chosen.name} did not allocate one`);
    const streams = terminalFor(
      session,
      { stdin: flags.stdin, tty: flags.tty && container?.tty === true },
      flags.quiet,
    );
    if (streams.stdin && streams.tty && !flags.quiet)
      session.printError("If you don't see a command prompt, try pressing enter.");
    const { name: podName, namespace } = metadataOf(pod);
    const query = [
      ["container", chosen.name] as const,
      ...(streams.stdin ? [["stdin", "true"] as const] : []),
      ...(streams.tty ? [["tty", "true"] as const] : [["stderr", "true"] as const]),
      ["stdout", "true"] as const,
    ];
    await runRemote(
      session,
      resourcePath(podMapping, stringIn(namespace), stringIn(podName), "attach"),
      query,
      streams,
    );
  },
});
