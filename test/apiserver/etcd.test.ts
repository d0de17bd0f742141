// Servers as people start them on a real etcd: by its flags, several on one, one of which may die.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { noTls, startEtcd } from "#store/testing/etcd.ts";
import { ServerProcess } from "./harness.ts";

interface Answer {
  readonly code: number;
  readonly json: { readonly items: readonly Service[] } & Service;
}
interface Service {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec: { readonly clusterIP: string };
}

async function call(server: ServerProcess, method: string, path: string, body?: object): Promise<Answer> {
  const [ca, cert, key] = (["ca.crt", "admin.crt", "admin.key"] as const).map((name) =>
    readFileSync(server.file(name)),
  );
  const asked = request(`${server.url}${path}`, { ca, cert, key, method, agent: false });
  asked.setHeader("content-type", "application/json");
  asked.end(body && JSON.stringify(body));
  const answer = await new Promise<{ code: number; json: string }>((resolve, reject) => {
    asked.once("error", reject);
    asked.once("response", (response) =>
      text(response).then((json) => resolve({ code: response.statusCode ?? 0, json }), reject),
    );
  });
  return { code: answer.code, json: JSON.parse(answer.json) };
}

test("servers on one etcd by its TLS flags share all, give no address twice, and outlive each other", {
  skip: noTls,
}, async (t) => {
  const cluster = await startEtcd({ tls: true });
  t.after(() => cluster.stop());
  const folder = mkdtempSync(join(tmpdir(), "knarr-etcd-flags-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: "ca" | "cert" | "key") => {
    const path = join(folder, name);
    writeFileSync(path, cluster.certificate?.[name] ?? "");
    return path;
  };
  const flags = [
    `--etcd-servers=${cluster.endpoints.join(",")}`,
    `--etcd-cafile=${file("ca")}`,
    `--etcd-certfile=${file("cert")}`,
    `--etcd-keyfile=${file("key")}`,
  ];
  await using one = await ServerProcess.start({ flags });
  await using other = await ServerProcess.start({ flags });
  const services = "/api/v1/namespaces/default/services";
  const made = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      call(i % 2 === 0 ? one : other, "POST", services, {
        metadata: { name: `s-${i}` },
        spec: { ports: [{ port: 80 }] },
      }),
    ),
  );
  assert.deepEqual([...new Set(made.map(({ code }) => code))], [201]);
  assert.equal(new Set(made.map(({ json }) => json.spec.clusterIP)).size, 40);
  const [first] = made;
  assert.equal(
    (await call(other, "GET", `${services}/s-0`)).json.metadata.resourceVersion,
    first?.json.metadata.resourceVersion,
  );

  await one.kill("SIGKILL");
  const { code, json } = await call(other, "GET", services);
  assert.equal(code, 200);
  for (const { json: service } of made)
    assert.ok(
      json.items.some(({ metadata }) => metadata.name === service.metadata.name),
      service.metadata.name,
    );
  assert.equal((await call(other, "POST", "/api/v1/namespaces", { metadata: { name: "after" } })).code, 201);
});
