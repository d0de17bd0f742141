// Upstream: kubectl/pkg/cmd/exec/exec.go.
import { command } from "../../command.ts";
import { KubectlError, usageError } from "../../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { chooseContainer, podFor, podMapping, statusOf } from "../../workloads/pods.ts";
import { runRemote } from "./remote-command.ts";
import { terminalFor } from "./terminal.ts";

export const exec = command({
  use: "exec (POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [args...]",
  long: "Run a command in a container.",
  examples: `# Run date in the first container of a pod
kubectl exec web -- date

# A shell
kubectl exec web -c main -it -- sh

# In a pod of a deployment
kubectl exec deploy/web -- date`,
  flags: {
    container: { type: "string", short: "c", help: "The container; the pod's default or first one unless given." },
    filename: { type: "stringSlice", short: "f", help: "The file of the object to run it in." },
    "pod-running-timeout": { type: "duration", default: "1m", help: "How long to wait for a pod." },
    quiet: { type: "bool", short: "q", help: "Print only what the command prints." },
    stdin: { type: "bool", short: "i", help: "Pass the standard input to the container." },
    tty: { type: "bool", short: "t", help: "The standard input is a terminal." },
  },
  async run(session, args, flags, { dash, commandPath }) {
    const name = args.length > 0 && dash !== 0 ? args[0] : undefined;
    const isSplit = dash === 0 || dash === 1;
    if (!isSplit && (args.length > 1 || (args.length > 0 && flags.filename.length > 0)))
      throw usageError(
        "exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead",
        commandPath,
      );
    if (flags["pod-running-timeout"] <= 0n)
      throw usageError("--pod-running-timeout must be higher than zero", commandPath);
    if (name === undefined && flags.filename.length === 0)
      throw new KubectlError("pod, type/name or --filename must be specified");
    const program = isSplit ? args.slice(dash) : [];
    if (program.length === 0) throw new KubectlError("you must specify at least one command for the container");
    const timeoutMs = Number(flags["pod-running-timeout"]) / 1e6;
    const pod = await attachablePod(session, name, flags.filename, timeoutMs);
    const { phase } = statusOf(pod);
    if (phase === "Succeeded" || phase === "Failed")
      throw new KubectlError(`cannot exec into a container in a completed pod; current phase is ${phase}`);
    const container = chooseContainer(session, pod, flags.container, flags.quiet);
    const streams = terminalFor(session, flags, flags.quiet);
    const query = [
      ...program.map((word) => ["command", word] as const),
      ["container", container.name] as const,
      ...(streams.stdin ? [["stdin", "true"] as const] : []),
      ...(streams.tty ? [] : [["stderr", "true"] as const]),
      ["stdout", "true"] as const,
      ...(streams.tty ? [["tty", "true"] as const] : []),
    ];
    const { name: podName, namespace } = metadataOf(pod);
    const path = resourcePath(podMapping, stringIn(namespace), stringIn(podName), "exec");
    await runRemote(session, { path, query, ...streams });
  },
});

/** The pod that a name, a workload or a manifest means. */
export async function attachablePod(
  session: Session,
  name: string | readonly string[] | undefined,
  filenames: readonly string[],
  timeoutMs: number,
): Promise<KubeObject> {
  const query = await ResourceQuery.of(session, {
    ...(name !== undefined && { args: [name].flat(), defaultType: "pods" }),
    filenames,
    latest: true,
  });
  const infos = await query.infos();
  const [info] = infos;
  if (infos.length !== 1 || !info?.object) throw new KubectlError("cannot exec into multiple objects at a time");
  return podFor(session, info.object, timeoutMs);
}
