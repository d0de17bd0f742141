// Commands and connections into the pods of the node.
import type { HttpResponse } from "#wire/http.ts";
import { servePortForward } from "#wire/streams/port-forward.ts";
import { remoteCommandOptions, serveRemoteCommand } from "#wire/streams/remote-command.ts";
import type { ContainerState } from "../runtime.ts";
import { type RouteRequest, text } from "./responses.ts";
import type { KubeletServerOptions, ServedPod } from "./server.ts";

/** Runs a command in a container, with streams. */
export const exec = (asked: RouteRequest, options: KubeletServerOptions): Promise<HttpResponse> =>
  connected(asked, options, (target, io, signal) =>
    options.streams.exec(target, asked.query.getAll("command"), io, signal),
  );

/** Joins a container's own process. */
export const attach = (asked: RouteRequest, options: KubeletServerOptions): Promise<HttpResponse> =>
  connected(asked, options, options.streams.attach);

async function connected(
  { words, query, headers }: RouteRequest,
  { find, clock, compression }: KubeletServerOptions,
  connect: KubeletServerOptions["streams"]["attach"],
): Promise<HttpResponse> {
  const command = remoteCommandOptions(query);
  if (typeof command === "string") return text(400, command);
  const found = containerAt(words, find);
  if ("code" in found) return found;
  const target = { id: found.id, options: command };
  const run: Parameters<typeof serveRemoteCommand>[1]["run"] = (io, signal) => connect(target, io, signal);
  return serveRemoteCommand({ headers }, { streams: command, compression, clock, run });
}

/** Runs a command to its end and answers what it wrote; how clients did it before there were streams. */
export async function run(
  { words, query, signal }: RouteRequest,
  { find, runtime }: KubeletServerOptions,
): Promise<HttpResponse> {
  const found = containerAt(words, find);
  if ("code" in found) return found;
  const command = (query.get("cmd") ?? "").split(" ");
  const { exitCode, output } = await runtime.exec(found.id, command, signal);
  if (exitCode === 0) return { code: 200, headers: { "content-type": "application/json" }, body: output };
  return text(500, `command '${command.join(" ")}' exited with ${exitCode}: ${new TextDecoder().decode(output)}`);
}

export async function portForward(
  { words, query, headers }: RouteRequest,
  { find, clock, streams, compression }: KubeletServerOptions,
): Promise<HttpResponse> {
  const [namespace = "", name = "", uid] = words;
  const served = find(namespace, name);
  if (!served) return text(404, "pod does not exist");
  if (uid && uid !== served.pod.metadata.uid) return text(404, "pod not found");
  return servePortForward(
    { headers, query },
    {
      pod: `${name}, uid ${served.pod.metadata.uid ?? ""}`,
      compression,
      clock,
      async forward(port, stream, signal) {
        const sandbox = served.state.sandboxes.find(({ isReady }) => isReady);
        if (!sandbox) throw new Error("the pod has no sandbox");
        await streams.portForward(sandbox.id, port, stream, signal);
      },
    },
  );
}

/** The running container that `NAMESPACE/POD[/UID]/CONTAINER` means, or why there is none. */
function containerAt(words: readonly string[], find: KubeletServerOptions["find"]): ContainerState | HttpResponse {
  const [namespace = "", name = "", uid] = words;
  const container = words.at(-1) ?? "";
  const served = find(namespace, name);
  if (!served) return text(404, "pod does not exist");
  const isMeant = words.length === 3 || uid === served.pod.metadata.uid;
  const running = isMeant ? runningContainer(served, container) : undefined;
  return running ?? text(500, `container not found (${JSON.stringify(container)})`);
}

const runningContainer = ({ state }: ServedPod, name: string): ContainerState | undefined =>
  state.containers.find((container) => container.name === name && container.phase === "running");
