// A server of others on loopback, over TLS: an issuer of tokens, or one that reviews.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemClock } from "#base/clock.ts";
import { Certificates } from "#cluster/certificates.ts";

type Answer = (path: string, body: string) => unknown;

/** An HTTPS server on loopback that answers JSON, and the folder with its authority. `undefined` is never answered. */
export async function loopback(t: TestContext, answer: Answer) {
  const folder = mkdtempSync(join(tmpdir(), "issuers-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1", "localhost"] });
  const server = createServer(serving, async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const value = answer(request.url ?? "", body);
    if (value === undefined) return; // it never answers
    response.statusCode = typeof value === "number" ? value : 200;
    response.end(typeof value === "string" ? value : JSON.stringify(value));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const config = file(
    "webhook.kubeconfig",
    JSON.stringify({
      clusters: [{ name: "a", cluster: { server: `${url}/review`, "certificate-authority": "ca.crt" } }],
      users: [{ name: "a", user: { token: "ours" } }],
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      "current-context": "a",
    }),
  );
  return { url, ca, folder, file, config };
}
