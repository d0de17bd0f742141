// Upstream: kubectl/pkg/cmd/portforward/portforward.go and client-go/tools/portforward.
import { createServer, type Server, type Socket } from "node:net";
import { isObject } from "#base/is-object.ts";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { relay } from "#wire/streams/byte-stream.ts";
import type { SpdyConnection } from "#wire/streams/spdy.ts";
import { command } from "../../command.ts";
import { KubectlError, usageError } from "../../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { podFor, podMapping, specOf, statusOf } from "../../workloads/pods.ts";
import { overSpdy } from "./remote-command.ts";

export interface ForwardedPort {
  /** 0 stands for any that is free. */
  readonly local: number;
  readonly remote: number;
}

export const portForward = command({
  use: "port-forward TYPE/NAME [options] [LOCAL_PORT:]REMOTE_PORT [...[LOCAL_PORT_N:]REMOTE_PORT_N]",
  long: "Listen on local ports and pass what comes in on to a pod.",
  examples: `# Listen on ports 5000 and 6000, and pass on to the same ports of a pod
kubectl port-forward pod/web 5000 6000

# Listen on 8443, and pass on to the port named https of a service's pod
kubectl port-forward service/web 8443:https`,
  flags: {
    address: {
      type: "stringSlice",
      default: ["localhost"],
      help: "Addresses to listen on, comma-separated; localhost or IP addresses.",
    },
    "pod-running-timeout": { type: "duration", default: "1m", help: "How long to wait for a pod." },
  },
  async run(session, args, flags, { commandPath }) {
    const [name, ...ports] = args;
    if (name === undefined || ports.length === 0)
      throw usageError("TYPE/NAME and list of ports are required for port-forward", commandPath);
    const query = await ResourceQuery.of(session, { args: [name], defaultType: "pods" });
    const [info] = await query.infos();
    if (!info?.object) throw new KubectlError("pod or type/name must be specified");
    const pod = await podFor(session, info.object, Number(flags["pod-running-timeout"]) / 1e6);
    const forwarded = ports.map((text) => parsePort(text, info.object as KubeObject, pod));
    const { phase } = statusOf(pod);
    if (phase !== "Running")
      throw new KubectlError(`unable to forward port because pod is not running. Current status=${phase}`);
    const { name: podName, namespace } = metadataOf(pod);
    const path = resourcePath(podMapping, stringIn(namespace), stringIn(podName), "portforward");
    await overSpdy(session, { path }, ["portforward.k8s.io"], (spdy) => serve(session, spdy, forwarded, flags.address));
  },
});

/** `8080`, `5000:80`, `:80`, and names of ports of the service or the pod. Throws KubectlError. */
export function parsePort(text: string, object: KubeObject, pod: KubeObject): ForwardedPort {
  const parts = text.split(":");
  if (parts.length > 2) throw new KubectlError(`invalid port format '${text}'`);
  const [first = "", second] = parts;
  const wanted = second ?? first;
  const remote = object.kind === "Service" ? servicePort(wanted, object, pod) : namedPort(wanted, pod);
  if (remote === undefined) throw new KubectlError(`unable to parse remote port ${JSON.stringify(wanted)}`);
  if (second === undefined) return { local: /^\d+$/.test(first) ? Number(first) : remote, remote };
  if (first !== "" && !/^\d+$/.test(first))
    throw new KubectlError(
      `error parsing local port '${first}': strconv.ParseUint: parsing ${JSON.stringify(first)}: invalid syntax`,
    );
  return { local: Number(first || "0"), remote };
}

const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

function namedPort(text: string, pod: KubeObject): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const ports = listOf(specOf(pod).containers).flatMap(({ ports: own }) => listOf(own));
  const found = ports.find(({ name }) => name === text)?.containerPort;
  if (typeof found !== "number")
    throw new KubectlError(`Pod '${metadataOf(pod).name}' does not have a named port '${text}'`);
  return found;
}

/** A service's port leads to where its pods listen. */
function servicePort(text: string, service: KubeObject, pod: KubeObject): number | undefined {
  const found = listOf(specOf(service).ports).find(({ name, port }) => name === text || String(port) === text);
  if (!found) throw new KubectlError(`Service ${metadataOf(service).name} does not have a service port ${text}`);
  const { port, targetPort = port } = found;
  if (specOf(service).clusterIP === "None" && targetPort === port) return Number(port);
  return typeof targetPort === "number" ? targetPort : namedPort(stringIn(targetPort), pod);
}

async function serve(
  session: Session,
  spdy: SpdyConnection,
  ports: readonly ForwardedPort[],
  addresses: readonly string[],
): Promise<void> {
  const hosts = addresses.flatMap((address) => (address === "localhost" ? ["127.0.0.1", "::1"] : [address]));
  const servers: Server[] = [];
  let id = 0;
  try {
    for (const { local, remote } of ports) {
      let port = local;
      const failures: string[] = [];
      for (const host of hosts) {
        const server = createServer((socket) => {
          session.print(`Handling connection for ${port}`);
          forward(session, spdy, socket, remote, id++).catch((error: unknown) => {
            session.printError(
              `an error occurred forwarding ${port} -> ${remote}: ${error instanceof Error ? error.message : String(error)}`,
            );
            socket.destroy();
          });
        });
        const bound = await listen(server, host, port).catch((error: unknown) => {
          failures.push(error instanceof Error ? error.message : String(error));
          return undefined;
        });
        if (bound === undefined) continue;
        servers.push(server);
        port = bound;
        session.print(`Forwarding from ${host.includes(":") ? `[${host}]` : host}:${port} -> ${remote}`);
      }
      if (failures.length === hosts.length)
        throw new KubectlError(
          `unable to listen on port ${local}: Listeners failed to create with the following errors: [${failures.join(" ")}]`,
        );
    }
    await new Promise<void>((_, fail) =>
      session.io.signal.addEventListener("abort", () => fail(session.io.signal.reason), { once: true }),
    );
  } finally {
    for (const server of servers) server.close();
  }
}

const listen = (server: Server, host: string, port: number): Promise<number> =>
  new Promise((done, fail) => {
    server.once("error", fail);
    server.listen(port, host, () => done((server.address() as { readonly port: number }).port));
  });

/** One connection: a stream for what goes wrong, and one for what is said. */
async function forward(
  session: Session,
  spdy: SpdyConnection,
  socket: Socket,
  remote: number,
  id: number,
): Promise<void> {
  const headers = { port: String(remote), requestid: String(id) };
  const errors = await spdy.open({ streamtype: "error", ...headers });
  await errors.end();
  const failed = (async () => {
    let text = "";
    for await (const part of errors.input) text += Buffer.from(part).toString("utf8");
    if (text !== "") session.printError(`an error occurred forwarding ${remote}: ${text}`);
  })();
  const data = await spdy.open({ streamtype: "data", ...headers });
  await relay(socketStream(socket), data);
  await failed;
}
