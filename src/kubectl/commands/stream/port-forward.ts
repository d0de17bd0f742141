// Upstream: kubectl/pkg/cmd/portforward/portforward.go and client-go/tools/portforward. Upstream ends when the pod does; ours finds
// the pod that took its place.
import type { Server } from "node:net";
import { ApiError } from "#base/errors.ts";
import { command } from "../../command.ts";
import { KubectlError, ServerUnreachable, usageError } from "../../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import { watchResource } from "../../resources/watch-resource.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { podFor, podMapping, statusOf } from "../../workloads/pods.ts";
import { hasEnded } from "./attach-created.ts";
import { isSwitchedOff, overSpdy, overTunnel, withFallback } from "./connection.ts";
import { type ForwardedPort, listenAddresses, parsePort } from "./forwarded-ports.ts";
import { listenOnPorts, type PodConnection } from "./port-listeners.ts";

const protocol = "portforward.k8s.io";
const retryMs = 1000;

export const portForward = command({
  use: "port-forward TYPE/NAME [options] [LOCAL_PORT:]REMOTE_PORT [...[LOCAL_PORT_N:]REMOTE_PORT_N]",
  long: "Listen on local ports and pass what comes in on to a pod. When the pod is replaced by another one of the same workload or name, the new one is used.",
  examples: `# Listen on ports 5000 and 6000, and pass on to the same ports of a pod
kubectl port-forward pod/web 5000 6000

# A pod of a deployment
kubectl port-forward deployment/web 5000

# Listen on 8443, and pass on to the port named https of a service's pod
kubectl port-forward service/web 8443:https

# Any free port, on all addresses of this machine
kubectl port-forward --address 0.0.0.0 pod/web :5000`,
  flags: {
    address: {
      type: "stringSlice",
      default: ["localhost"],
      help: "Addresses to listen on, comma-separated; localhost or IP addresses.",
    },
    "no-reconnect": { type: "bool", help: "End when the connection to the pod is lost, as other kubectls do." },
    "pod-running-timeout": { type: "duration", default: "1m", help: "How long to wait for a pod." },
  },
  async run(session, args, flags, { commandPath }) {
    const [name, ...ports] = args;
    if (name === undefined || ports.length === 0)
      throw usageError("TYPE/NAME and list of ports are required for port-forward", commandPath);
    const timeoutMs = Number(flags["pod-running-timeout"]) / 1e6;
    if (timeoutMs <= 0) throw usageError("--pod-running-timeout must be higher than zero", commandPath);
    const { pod, forwarded } = await findPod(session, name, ports, timeoutMs);
    const addresses = listenAddresses(flags.address);
    const { name: podName, namespace } = metadataOf(pod);
    const path = resourcePath(podMapping, stringIn(namespace), stringIn(podName));
    const { phase } = statusOf(await (await session.client()).json({ path }));
    if (phase !== "Running")
      throw new KubectlError(`unable to forward port because pod is not running. Current status=${phase}`);
    const way: PodConnection = { spdy: undefined, nextId: 0 };
    const servers: Server[] = [];
    const connected = async () => {
      if (servers.length === 0) servers.push(...(await listenOnPorts(session, way, forwarded, addresses)));
      else session.printError(`connected to a pod of ${name} again`);
    };
    try {
      await keepForwarding(session, way, pod, connected);
      while (!session.io.signal.aborted) {
        if (flags["no-reconnect"]) throw new KubectlError("lost connection to pod");
        const next = await replacement(session, name, timeoutMs);
        await keepForwarding(session, way, next, connected);
      }
    } catch (error) {
      if (!session.io.signal.aborted) throw error;
    } finally {
      for (const server of servers) server.close();
    }
  },
});

interface FoundPod {
  readonly pod: KubeObject;
  readonly forwarded: readonly ForwardedPort[];
}

async function findPod(session: Session, name: string, ports: readonly string[], timeoutMs: number): Promise<FoundPod> {
  const query = await ResourceQuery.of(session, { args: [name], defaultType: "pods" });
  const [info] = await query.infos();
  const object = info?.object;
  if (!object) throw new KubectlError("pod or type/name must be specified");
  const pod = await podFor(session, object, timeoutMs);
  return { pod, forwarded: ports.map((text) => parsePort(text, object, pod)) };
}

/** Resolves when the connection is lost, and when the person has had enough. */
async function keepForwarding(
  session: Session,
  way: PodConnection,
  pod: KubeObject,
  connected: () => Promise<void>,
): Promise<void> {
  const { name, namespace } = metadataOf(pod);
  const request = { path: resourcePath(podMapping, stringIn(namespace), stringIn(name), "portforward") };
  const serve = async (spdy: PodConnection["spdy"], over: Promise<void>) => {
    way.spdy = spdy;
    const done = new AbortController();
    try {
      await connected();
      // The node keeps the connection open when the pod is gone.
      await Promise.race([over, untilGone(session, pod, done.signal)]);
    } finally {
      done.abort();
      way.spdy = undefined;
    }
  };
  try {
    await withFallback(
      !isSwitchedOff(session.io.env.KUBECTL_PORT_FORWARD_WEBSOCKETS),
      () => overTunnel(session, request, protocol, serve),
      () => overSpdy(session, request, protocol, serve),
    );
  } catch (error) {
    if (error instanceof KubectlError || !(error instanceof Error) || error === session.io.signal.reason) throw error;
    throw new KubectlError(`error upgrading connection: ${error.message}`, { cause: error });
  }
}

/** Resolves when the pod is gone or has ended. Whoever may not watch pods learns it from the connection. */
async function untilGone(session: Session, pod: KubeObject, signal: AbortSignal): Promise<void> {
  const { uid, name, namespace } = metadataOf(pod);
  const request = { mapping: podMapping, namespace: stringIn(namespace), name: stringIn(name), signal };
  const { clock } = session.io;
  while (!signal.aborted) {
    try {
      for await (const { type, object } of watchResource(await session.client(), request)) {
        if (type === "ERROR") break;
        if (type === "DELETED" || metadataOf(object).uid !== uid || hasEnded(object)) return;
      }
    } catch (error) {
      if (error instanceof ApiError && error.code === 403)
        return new Promise((done) => signal.addEventListener("abort", () => done(), { once: true }));
    }
    await clock.sleep(retryMs, signal).catch(() => undefined); // over
  }
}

/** The pod to use now that the one before is gone. Rejects with KubectlError if there is none for too long. */
async function replacement(session: Session, name: string, timeoutMs: number): Promise<KubeObject> {
  const { clock, signal } = session.io;
  session.printError("lost connection to pod, looking for its replacement");
  const lastAt = clock.elapsed() + timeoutMs;
  for (;;) {
    await clock.sleep(retryMs, signal);
    try {
      const { pod } = await findPod(session, name, [], Math.max(1, lastAt - clock.elapsed()));
      if (statusOf(pod).phase === "Running" && metadataOf(pod).deletionTimestamp === undefined) return pod;
    } catch (error) {
      // It may not be there yet, and the server itself may be what was lost.
      const isTemporary = error instanceof Error && (error instanceof ServerUnreachable || "reason" in error);
      if (!isTemporary && !(error instanceof KubectlError)) throw error;
    }
    if (clock.elapsed() >= lastAt) throw new KubectlError("lost connection to pod");
  }
}
