// What a kubelet answers over HTTP: logs, exec, attach, port-forward, its pods, its health, what is used. Who may ask was decided before.
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import type { HttpResponse } from "#wire/http.ts";
import { servePortForward } from "#wire/streams/port-forward.ts";
import { remoteCommandOptions, serveRemoteCommand } from "#wire/streams/remote-command.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";
import { containersIn } from "../pod/containers.ts";
import type { ContainerRuntime, ContainerState, PodState } from "../runtime.ts";
import { type LogOptions, logOptions, logText } from "./logs.ts";
import { resourceMetrics } from "./resource-metrics.ts";
import { wordsOf } from "./rights.ts";
import type { ContainerStreams } from "./streams.ts";

export interface KubeletRequest {
  readonly method: string;
  /** Path and query, escaped. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** A pod of the node, and what the runtime has of it. */
export interface ServedPod {
  readonly pod: Pod;
  readonly state: PodState;
}

export interface KubeletServerOptions {
  readonly clock: Clock;
  readonly streams: ContainerStreams;
  readonly compression: () => SpdyCompression;
  readonly runtime: Pick<ContainerRuntime, "name" | "usage">;
  readonly find: (namespace: string, name: string) => ServedPod | undefined;
  readonly list: () => Iterable<ServedPod>;
}

export type KubeletServer = (request: KubeletRequest) => Promise<HttpResponse>;

export function kubeletServer(options: KubeletServerOptions): KubeletServer {
  return async ({ method, url, headers, signal }) => {
    const [path = "", search = ""] = url.split("?");
    const query = new URLSearchParams(search);
    const words = wordsOf(path);
    if (!words) return text(400, "the path is not escaped properly");
    const [first = "", namespace = "", name = "", ...rest] = words;
    const request: Asked = { query, headers, signal, namespace, name, container: rest.at(-1) ?? "", method };
    switch (first) {
      case "healthz":
        return text(200, "ok");
      case "pods":
        return json({
          kind: "PodList",
          apiVersion: "v1",
          metadata: {},
          items: [...options.list()].map(({ pod }) => pod),
        });
      case "metrics":
        if (namespace !== "resource") return notFound();
        return text(200, await resourceMetrics(options.list(), options.runtime, signal));
      case "containerLogs":
        return logs(request, options);
      case "exec":
      case "attach":
        return command(first, request, options);
      case "portForward":
        return portForward(request, options);
      default:
        return notFound();
    }
  };
}

interface Asked extends Omit<KubeletRequest, "url"> {
  readonly query: URLSearchParams;
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
}

const text = (code: number, body: string): HttpResponse => ({ code, headers: { "content-type": "text/plain" }, body });
const notFound = (): HttpResponse => text(404, "404 page not found\n");
const json = (body: unknown): HttpResponse => ({
  code: 200,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

async function logs(
  { namespace, name, container, query, signal }: Asked,
  { find, clock, streams, runtime }: KubeletServerOptions,
): Promise<HttpResponse> {
  const asked = logOptions(query, clock.now());
  if (!asked) return text(422, '{"message": "Invalid request."}');
  const served = find(namespace, name);
  if (!served) return text(404, `pod ${JSON.stringify(name)} does not exist`);
  if (!containersIn(served.pod.spec).has(container))
    return text(404, `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`);
  const id = loggedContainer(served, container, asked, runtime.name);
  if (typeof id !== "string") return text(400, id.why);
  const log = await streams.log(id, signal);
  return { code: 200, headers: { "content-type": "text/plain" }, body: logText(log, asked) };
}

/** Of which run of a container the log is meant, or why there is none. */
function loggedContainer(
  { pod }: ServedPod,
  container: string,
  { previous }: LogOptions,
  runtimeName: string,
): string | { readonly why: string } {
  const status = statusOf(pod, container);
  const it = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata.name)}`;
  if (!status) return { why: `${it} is not available` };
  const { state, lastState, containerID } = status;
  const idOf = (id: string | undefined) => (id ? id.slice(`${runtimeName}://`.length) : undefined);
  if (previous) return idOf(lastState.terminated?.containerID) ?? { why: `previous terminated ${it} not found` };
  const id = state.running ? containerID : (state.terminated?.containerID ?? lastState.terminated?.containerID);
  const known = idOf(id);
  if (known !== undefined) return known;
  if (state.terminated ?? lastState.terminated) return { why: `${it} is terminated` };
  const reason = state.waiting?.reason;
  if (reason === "ErrImagePull") return { why: `${it} is waiting to start: image can't be pulled` };
  if (reason === "ImagePullBackOff") return { why: `${it} is waiting to start: trying and failing to pull image` };
  return { why: `${it} is waiting to start: ${reason}` };
}

function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (one) => one.name === name,
  );
}

const runningContainer = ({ state }: ServedPod, name: string): ContainerState | undefined =>
  state.containers.find((container) => container.name === name && container.phase === "running");

async function command(
  what: "exec" | "attach",
  { namespace, name, container, query, headers }: Asked,
  { find, clock, streams, compression }: KubeletServerOptions,
): Promise<HttpResponse> {
  const wanted = remoteCommandOptions(query);
  if (typeof wanted === "string") return text(400, wanted);
  const served = find(namespace, name);
  if (!served) return text(404, "pod does not exist");
  const running = runningContainer(served, container);
  if (!running) return text(500, `container not found (${JSON.stringify(container)})`);
  const words = query.getAll("command");
  const target = { id: running.id, options: wanted };
  return serveRemoteCommand(
    { headers },
    {
      streams: wanted,
      compression,
      clock,
      run: (io, signal) =>
        what === "exec" ? streams.exec(target, words, io, signal) : streams.attach(target, io, signal),
    },
  );
}

async function portForward(
  { namespace, name, query, headers }: Asked,
  { find, clock, streams, compression }: KubeletServerOptions,
): Promise<HttpResponse> {
  const served = find(namespace, name);
  if (!served) return text(404, "pod does not exist");
  const uid = served.pod.metadata.uid ?? "";
  return servePortForward(
    { headers, query },
    {
      pod: `${name}, uid ${uid}`,
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
