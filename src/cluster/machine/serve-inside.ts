// One answer for all, over plain HTTP, on a port inside a network namespace.
import { once } from "node:events";
import { createServer } from "node:http";
import type { HealthAnswer, PortServer } from "#proxy/health-ports.ts";
import { openInside } from "./open-inside.ts";

/** Long enough for anybody who is really there. */
const limits = { requestTimeout: 5000, headersTimeout: 5000, keepAliveTimeout: 1000, maxHeaderSize: 8192 };

export async function serveInside(
  { namespace, address, port }: { readonly namespace: string; readonly address: string; readonly port: number },
  answer: () => HealthAnswer,
  signal: AbortSignal,
): Promise<PortServer> {
  const [socket] = await openInside(namespace, [{ address, port }], signal);
  if (socket?.protocol !== "tcp") throw new Error(`no socket for ${address}:${port} came back`);
  const server = createServer(limits, (request, response) => {
    request.resume();
    const { code, headers, body } = answer();
    response.writeHead(code, headers).end(body);
  });
  server.maxConnections = 100;
  server.listen(socket.handle);
  await once(server, "listening");
  return {
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
