// Upstream: kubectl/pkg/cmd/attach/attach.go.
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { KubectlError, usageError } from "../../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { chooseContainer, podMapping, specOf, statusOf } from "../../workloads/pods.ts";
import { attachablePod } from "./exec.ts";
import { runRemote } from "./remote-command.ts";
import { detachKeys, terminalFor, untilDetached } from "./terminal.ts";

export const usualDetachKeys = "ctrl-p,ctrl-q";
export const detachKeysFlag = {
  "detach-keys": { type: "string", default: usualDetachKeys, help: "Keys that leave the container running." },
} as const;

export const attach = command({
  use: "attach (POD | TYPE/NAME) -c CONTAINER",
  long: "Attach to what already runs in a container.",
  examples: `# See what the default container of a pod prints
kubectl attach web

# Type into it as well, in a terminal
kubectl attach web -c main -it

# A pod of a deployment
kubectl attach deployment/web`,
  flags: {
    ...detachKeysFlag,
    container: { type: "string", short: "c", help: "The container; the pod's default or first one unless given." },
    "pod-running-timeout": { type: "duration", default: "1m", help: "How long to wait for a pod." },
    quiet: { type: "bool", short: "q", help: "Print only what the container prints." },
    stdin: { type: "bool", short: "i", help: "Pass the standard input to the container." },
    tty: { type: "bool", short: "t", help: "The standard input is a terminal." },
  },
  async run(session, args, flags, { commandPath }) {
    if (flags["pod-running-timeout"] <= 0n)
      throw usageError("--pod-running-timeout must be higher than zero", commandPath);
    const [name, ...more] = args;
    if (name === undefined) throw new KubectlError("at least 1 argument is required for attach");
    if (more.length > 1)
      throw new KubectlError(
        `expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw ${args.length}: [${args.join(" ")}]`,
      );
    const wanted = more[0] === undefined ? name : `${name}/${more[0]}`;
    const pod = await attachablePod(session, wanted, [], Number(flags["pod-running-timeout"]) / 1e6);
    const { phase } = statusOf(pod);
    if (phase === "Succeeded" || phase === "Failed")
      throw new KubectlError(`cannot attach a container in a completed pod; current phase is ${phase}`);
    await attachTo(session, pod, { ...flags, detachKeys: flags["detach-keys"] });
  },
});

export interface AttachSettings {
  readonly container: string;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly quiet: boolean;
  readonly detachKeys: string;
}

/** Attaches until what runs in the container is over, or the person has typed the keys to leave. */
export async function attachTo(session: Session, pod: KubeObject, settings: AttachSettings): Promise<void> {
  const { quiet, stdin } = settings;
  const chosen = chooseContainer(session, pod, settings.container, quiet);
  const list = specOf(pod)[chosen.list];
  const hasTty = (Array.isArray(list) ? list : []).some(
    (one) => isObject(one) && one.name === chosen.name && one.tty === true,
  );
  if (settings.tty && !hasTty && !quiet)
    session.printError(`error: Unable to use a TTY - container ${chosen.name} did not allocate one`);
  // What a terminal prints can only be read as what a terminal prints.
  const streams = terminalFor(session, { stdin, tty: hasTty }, quiet);
  if (!quiet) {
    session.printError(
      "All commands and output from this session will be recorded in container logs, including credentials and sensitive information passed through the command prompt.",
    );
    session.printError("If you don't see a command prompt, try pressing enter.");
  }
  const { name, namespace } = metadataOf(pod);
  const detached = new AbortController();
  const isRaw = streams.stdin && streams.tty;
  const input = isRaw
    ? untilDetached(session.io.stdin, detachKeys(settings.detachKeys || usualDetachKeys), () => detached.abort())
    : undefined;
  try {
    await runRemote(session, {
      path: resourcePath(podMapping, stringIn(namespace), stringIn(name), "attach"),
      query: [
        ["container", chosen.name],
        ...(streams.stdin ? [["stdin", "true"] as const] : []),
        ...(streams.tty ? [["tty", "true"] as const] : [["stderr", "true"] as const]),
        ["stdout", "true"],
      ],
      ...streams,
      ...(input && { input }),
      isRedrawn: true,
      signal: detached.signal,
    });
  } catch (error) {
    if (!detached.signal.aborted) throw error;
  }
  if (isRaw && !quiet) session.print(farewell(stringIn(name), stringIn(namespace), chosen));
}

function farewell(
  pod: string,
  namespace: string,
  { name, list }: { readonly name: string; readonly list: string },
): string {
  const again = `'kubectl attach ${pod} -c ${name} -n ${namespace} -i -t'`;
  return list === "ephemeralContainers"
    ? `Session ended, the ephemeral container will not be restarted but may be reattached using ${again} if it is still running`
    : `Session ended, resume using ${again} command`;
}
