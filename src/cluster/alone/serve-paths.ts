// A few paths over plain HTTP, as the proxy of each node has always served its health and its metrics.
import { once } from "node:events";
import { createServer } from "node:http";
import type { Component } from "#base/supervise.ts";
import type { HealthAnswer } from "#proxy/health-ports.ts";
import type { Address } from "../machine/node-location.ts";

/** Long enough for any client that is alive. */
const limits = { requestTimeout: 5000, headersTimeout: 5000, keepAliveTimeout: 1000, maxHeaderSize: 8192 };
const mostConnections = 100;

type PathAnswer = () => HealthAnswer | Promise<HealthAnswer>;

/** Fails if it cannot listen there. */
export const servePaths = (name: string, at: Address, paths: Readonly<Record<string, PathAnswer>>): Component => ({
  name,
  async run(signal) {
    const server = createServer(limits, async (request, response) => {
      request.resume();
      const path = new URL(request.url ?? "/", "http://localhost").pathname;
      const answer = Object.hasOwn(paths, path) ? paths[path] : undefined;
      if (!answer) return void response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found\n");
      const { code, headers, body } = await answer();
      response.writeHead(code, headers).end(body);
    });
    server.maxConnections = mostConnections;
    const listening = once(server, "listening"); // rejects if an error comes first
    server.listen(at.port, at.host);
    await listening;
    if (!signal.aborted) await once(signal, "abort");
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  },
});
