// The log of a container of the node: of which run of it, and why there may be none.
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { HttpResponse } from "#wire/http.ts";
import { containersIn } from "../pod/containers.ts";
import { type ContainerLogOptions, logOptions, logText } from "./logs.ts";
import { type RouteRequest, text } from "./responses.ts";
import type { KubeletServerOptions, ServedPod } from "./server.ts";

export async function containerLogs(
  { words, query, signal }: RouteRequest,
  { find, clock, streams, runtime }: KubeletServerOptions,
): Promise<HttpResponse> {
  const [namespace = "", name = "", container = ""] = words;
  const logRequest = logOptions(query, clock.now());
  if ("why" in logRequest) return text(logRequest.code, logRequest.why);
  const served = find(namespace, name);
  if (!served) return text(404, `pod ${JSON.stringify(name)} does not exist`);
  if (!containersIn(served.pod.spec).has(container))
    return text(404, `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`);
  const id = loggedContainer(served, container, logRequest, runtime.name);
  if (typeof id !== "string") return text(400, id.why);
  const log = await streams.log(id, logRequest, signal);
  return { code: 200, headers: { "content-type": "text/plain" }, body: logText(log, logRequest) };
}
/** Of which run of a container the log is meant, or why there is none. */
function loggedContainer(
  { pod }: ServedPod,
  container: string,
  { previous }: ContainerLogOptions,
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
