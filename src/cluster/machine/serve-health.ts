// One answer to all requests, over plain HTTP, on a port of a node.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { HealthAnswer, PortServer } from "#proxy/health-ports.ts";
import type { Address, Listener, NodeLocation } from "./node-location.ts";

/** Long enough for any client that is alive. */
const limits = { requestTimeout: 5000, headersTimeout: 5000, keepAliveTimeout: 1000, maxHeaderSize: 8192 };

export async function serveHealth(
  location: NodeLocation,
  at: Address,
  answer: () => HealthAnswer,
  signal: AbortSignal,
): Promise<PortServer> {
  const server = createServer(limits, (request, response) => {
    request.resume();
    const { code, headers, body } = answer();
    response.writeHead(code, headers).end(body);
  });
  server.maxConnections = 100;
  await location.listen(listenerOf(server, at.port), at, signal);
  return {
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function listenerOf(server: Server, port: number): Listener {
  const listening = async (start: () => void) => {
    const begun = once(server, "listening"); // rejects if an error comes first
    start();
    await begun;
    return port;
  };
  return {
    listen: (_, host) => listening(() => server.listen(port, host)),
    listenOn: (handle) => listening(() => server.listen(handle)),
  };
}
