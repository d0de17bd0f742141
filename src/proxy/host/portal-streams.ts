// Carries TCP connections: each to a target of its own, which it keeps whatever becomes of the endpoints.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { PortalChoice } from "../portal-choice.ts";
import type { OpenPortal } from "./forwarding.ts";

/** How long a target may take to accept, attempt by attempt. */
const dialTimeoutsMs = [250, 500, 1_000, 2_000];

/** Connections are in the set for as long as they are open. */
export async function openStreams(choice: PortalChoice, connections: Set<Socket>): Promise<OpenPortal> {
  const isV6 = choice.portal.family === "IPv6";
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (incoming) => {
    connections.add(incoming);
    incoming.once("close", () => connections.delete(incoming));
    incoming.on("error", () => incoming.destroy());
    void carry(incoming, choice);
  });
  const listening = once(server, "listening");
  server.listen({ port: 0, host: isV6 ? "::" : "0.0.0.0", ipv6Only: isV6 });
  await listening;
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    follow: () => undefined,
    close: () => void server.close(),
  };
}

/** Never rejects: a connection that finds no target is reset. */
async function carry(incoming: Socket, choice: PortalChoice): Promise<void> {
  const sender = incoming.remoteAddress ?? "";
  for (const [attempt, timeoutMs] of dialTimeoutsMs.entries()) {
    const target = choice.choose(sender, attempt > 0);
    if (!target) break;
    const outgoing = await dial(target.address, target.port, timeoutMs);
    if (!outgoing) continue;
    if (incoming.destroyed) return void outgoing.destroy();
    join(incoming, outgoing);
    join(outgoing, incoming);
    incoming.resume();
    return;
  }
  incoming.resetAndDestroy();
}

function dial(host: string, port: number, timeoutMs: number): Promise<Socket | undefined> {
  const { promise, resolve } = Promise.withResolvers<Socket | undefined>();
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
  const fail = () => {
    socket.destroy();
    resolve(undefined);
  };
  socket.setTimeout(timeoutMs, fail);
  socket.once("error", fail);
  socket.once("connect", () => {
    socket.setTimeout(0);
    socket.off("error", fail);
    socket.on("error", () => socket.destroy());
    resolve(socket);
  });
  return promise;
}

/** One direction: an end is passed on as an end, and a reset as a reset. */
function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.once("close", (hadError) => {
    if (hadError) to.resetAndDestroy();
    else if (!from.readableEnded) to.destroy();
  });
}
