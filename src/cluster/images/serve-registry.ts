import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Log } from "#base/log.ts";
import { registry, registryHost, registryHosts, type ServedImages } from "./registry.ts";

export interface RegistryServer extends AsyncDisposable {
  /** `http://172.31.0.1:40123`. */
  readonly url: string;
}

export interface ImageRegistryOptions extends ServedImages {
  /** Where nodes reach this machine. */
  readonly address: string;
  readonly log: Log;
}

/** Serves the images of a cluster on any free port. Without TLS: only demo images are served, and nobody leaves the machine. */
export async function serveRegistry({ address, log, ...images }: ImageRegistryOptions): Promise<RegistryServer> {
  const handler = registry(images);
  const server = createServer((message, response) => {
    answer(message, response).catch((error: unknown) => {
      if (!response.destroyed) log.error("an image could not be served", { path: message.url, error });
      response.destroy();
    });
  });
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    message.resume(); // nobody sends anything that matters
    const { pathname } = new URL(message.url ?? "/", "http://registry");
    const { code, headers, body } = await handler({ method: message.method ?? "GET", path: pathname });
    response.writeHead(code, headers);
    await pipeline(typeof body === "string" ? Readable.from([body]) : body, response);
  };
  server.listen(0, address);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${isIPv6(address) ? `[${address}]` : address}:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Tells a node's containerd where the registry is; `folder` is where that looks for hosts of registries. */
export function tellRegistry(folder: string, url: string): void {
  const own = join(folder, registryHost);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  writeFileSync(join(own, "hosts.toml"), registryHosts(url));
}
