// The listening side of port-forward: it stays while the way to the pod is made anew.
import { createServer, type Server, type Socket } from "node:net";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { relay } from "#wire/streams/byte-stream.ts";
import type { SpdyConnection } from "#wire/streams/spdy.ts";
import { KubectlError } from "../../errors.ts";
import type { Session } from "../../session.ts";
import type { ForwardedPort, ListenAddress } from "./forwarded-ports.ts";

/** The way to a pod as it is now; another one is put in place when it was lost. */
export interface PodConnection {
  spdy: SpdyConnection | undefined;
  nextId: number;
}

/** Listens on all addresses. Rejects with KubectlError if nothing could be listened on. */
export async function listenOnPorts(
  session: Session,
  way: PodConnection,
  ports: readonly ForwardedPort[],
  addresses: readonly ListenAddress[],
): Promise<readonly Server[]> {
  const servers: Server[] = [];
  let isAny = false;
  for (const port of ports) {
    const { listening, failures } = await listenOnPort(session, way, port, addresses);
    servers.push(...listening);
    const hasFailed = failures.some(({ isOptional }) => !isOptional) || listening.length === 0;
    if (hasFailed)
      session.printError(
        `Unable to listen on port ${port.local}: Listeners failed to create with the following errors: [${failures.map(({ text }) => text).join(" ")}]`,
      );
    isAny ||= !hasFailed;
  }
  if (isAny) return servers;
  for (const server of servers) server.close();
  const shown = ports.map(({ local, remote }) => `{${local} ${remote}}`).join(" ");
  throw new KubectlError(`unable to listen on any of the requested ports: [${shown}]`);
}

interface PortOutcome {
  readonly listening: readonly Server[];
  readonly failures: readonly { readonly text: string; readonly isOptional: boolean }[];
}

async function listenOnPort(
  session: Session,
  way: PodConnection,
  { local, remote }: ForwardedPort,
  addresses: readonly ListenAddress[],
): Promise<PortOutcome> {
  const listening: Server[] = [];
  const failures: { readonly text: string; readonly isOptional: boolean }[] = [];
  // The first address may get any free port; the others then use the same.
  let port = local;
  for (const { host, isOptional } of addresses) {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      session.print(`Handling connection for ${port}`);
      forward(session, way, socket, { local: port, remote }).catch((error: unknown) => {
        session.printError(`error forwarding ${port} -> ${remote}: ${error instanceof Error ? error.message : error}`);
        socket.destroy();
      });
    });
    try {
      port = await listen(server, host, port);
      listening.push(server);
      session.print(`Forwarding from ${host.includes(":") ? `[${host}]` : host}:${port} -> ${remote}`);
    } catch (error) {
      failures.push({ text: `unable to create listener: Error ${listenWords(error, host, port)}`, isOptional });
    }
  }
  return { listening, failures };
}

const listen = (server: Server, host: string, port: number): Promise<number> =>
  new Promise((done, fail) => {
    server.once("error", fail);
    server.listen(port, host, () => done((server.address() as { readonly port: number }).port));
  });

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "address already in use",
  EACCES: "permission denied",
  EADDRNOTAVAIL: "cannot assign requested address",
};

function listenWords(error: unknown, host: string, port: number): string {
  const { code = "", message = String(error) } = error as NodeJS.ErrnoException;
  const at = host.includes(":") ? `tcp6 [${host}]:${port}` : `tcp4 ${host}:${port}`;
  return reasons[code] === undefined ? message : `listen ${at}: bind: ${reasons[code]}`;
}

/** One connection: a stream for what goes wrong, and one for what is said. */
async function forward(
  session: Session,
  way: PodConnection,
  socket: Socket,
  { local, remote }: ForwardedPort,
): Promise<void> {
  const { spdy } = way;
  if (!spdy) throw new Error("there is no connection to a pod at the moment");
  const headers = { port: String(remote), requestid: String(way.nextId++) };
  const errors = await spdy.open({ streamtype: "error", ...headers });
  await errors.end();
  const data = await spdy.open({ streamtype: "data", ...headers });
  const failed = (async () => {
    let text = "";
    for await (const part of errors.input) text += Buffer.from(part).toString("utf8");
    if (text === "") return;
    session.printError(`an error occurred forwarding ${local} -> ${remote}: ${text}`);
    data.destroy();
  })();
  const copied = relay(socketStream(socket), data);
  try {
    await Promise.all([copied, failed]);
  } catch (error) {
    // Either side may leave in the middle; what the pod's side had to say was said on the stream of errors.
    if (!way.spdy || way.spdy !== spdy) throw error;
  } finally {
    socket.destroy();
    data.destroy();
  }
}
