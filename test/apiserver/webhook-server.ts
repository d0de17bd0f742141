// A webhook on this machine, over real TLS, for tests of those that call webhooks.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { systemClock } from "#base/clock.ts";
import { makeAuthority, makeCertificate } from "../../src/cluster/certificate-maker.ts";

const day = 86_400_000;
const validity = { notBefore: new Date(systemClock.now() - day), notAfter: new Date(systemClock.now() + day) };
export const authority = makeAuthority(validity);
export const otherAuthority = makeAuthority(validity);
export const base64 = (text: string): string => Buffer.from(text).toString("base64");

export interface WebhookCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface TestWebhook extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Its own certificate. */
  readonly cert: string;
  readonly calls: readonly WebhookCall[];
  /** How many connections were made. */
  readonly connections: number;
}

/** Answers with a document, or does what it is told to with the response. */
export async function startWebhook(
  answer: (call: WebhookCall, response: ServerResponse) => unknown,
  { hosts = ["127.0.0.1", "hook.default.svc"], asksForCertificate = false, secure = true } = {},
): Promise<TestWebhook> {
  const calls: WebhookCall[] = [];
  let connections = 0;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const call = { method, url, headers, body: Buffer.concat(parts).toString() };
      calls.push(call);
      const document = answer(call, response);
      if (document === undefined) return;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(document));
    });
  };
  const { cert, key } = makeCertificate(authority, { commonName: "hook", hosts }, validity);
  const server: Server = secure
    ? createSecureServer(
        { cert, key, ca: authority.cert, requestCert: asksForCertificate, rejectUnauthorized: asksForCertificate },
        handle,
      )
    : createServer(handle);
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${secure ? "https" : "http"}://127.0.0.1:${port}`,
    port,
    cert,
    calls,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      if ("closeAllConnections" in server) (server.closeAllConnections as () => void)();
      await closed;
    },
  };
}

/** A certificate for clients, by the authority that a webhook believes. */
export const clientCertificate = () => makeCertificate(authority, { commonName: "apiserver" }, validity);
