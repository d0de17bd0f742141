// What people see of aggregated APIs: unmodified kubectls, the oldest and the newest there are, against a server with one API that answers and
// one that does not.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { remoteConnections } from "#apiserver/host/remote-connections.ts";
import { testServer } from "#apiserver/testing.ts";
import { silentLog } from "#base/log.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { aggregatedServer, group, proxyClient, servingAuthority } from "./aggregated-server.ts";
import { findKubectls, minorOf } from "./kubectls.ts";

const run = promisify(execFile);
const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };

const apiService = (version: string, service: string) => ({
  metadata: { name: `${version}.${service === "aqua" ? group : "broken.example.com"}` },
  spec: {
    group: service === "aqua" ? group : "broken.example.com",
    version,
    service: { namespace: "sea", name: service },
    caBundle: Buffer.from(servingAuthority.cert).toString("base64"),
    groupPriorityMinimum: 2000,
    versionPriority: 10,
  },
});

async function world(t: TestContext) {
  const aqua = await aggregatedServer();
  const pair = proxyClient();
  const connections = remoteConnections(() => pair);
  const connection = {
    send: (target: Parameters<typeof connections.send>[0], sent: Parameters<typeof connections.send>[1]) =>
      connections.send({ ...target, dialAddress: "127.0.0.1", port: aqua.port }, sent),
  };
  const server = await testServer({
    aggregation: { connection, routesToEndpoints: true },
    users: { t: { name: "t", groups: [] } },
  });
  const stop = new AbortController();
  const running = server.server.aggregator.run(stop.signal);
  const authority = makeAuthority(validity);
  const own = makeCertificate(authority, { commonName: "localhost", hosts: ["127.0.0.1"] }, validity);
  const https = httpsFront({ ...own, clientCa: undefined, log: silentLog, handler: server.server.handle });
  const port = await https.listen(0, "127.0.0.1");
  const folder = mkdtempSync(join(tmpdir(), "aggregation-"));
  writeFileSync(join(folder, "ca.crt"), authority.cert);
  t.after(async () => {
    stop.abort(new Error("the test is over"));
    await running;
    await https.close(1000);
    connections.close();
    await server[Symbol.asyncDispose]();
    await aqua[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });
  const { call, clock } = server;
  for (const name of ["default", "sea"]) await call("POST", "/api/v1/namespaces", { metadata: { name } });
  const service = { metadata: { name: "aqua" }, spec: { type: "ExternalName", externalName: "aqua.invalid" } };
  await call("POST", "/api/v1/namespaces/sea/services", service);
  for (const one of [apiService("v1", "aqua"), apiService("v1", "nowhere")])
    await call("POST", "/apis/apiregistration.k8s.io/v1/apiservices", one);
  while (server.server.aggregator.discovery.kinds.length === 0 || !server.server.aggregator.apis.all[0]?.isAvailable) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1);
  }
  aqua.put("sea", "nemo");
  const kubectl = async (path: string, ...args: readonly string[]) => {
    const access = [
      `--server=https://127.0.0.1:${port}`,
      `--certificate-authority=${join(folder, "ca.crt")}`,
      "--token=t",
    ];
    const env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: join(folder, "none") };
    try {
      return await run(path, [...access, `--cache-dir=${join(folder, path.replaceAll("/", "_"))}`, ...args], { env });
    } catch (error) {
      return error as { readonly stdout: string; readonly stderr: string };
    }
  };
  return { kubectl };
}

const kubectls = findKubectls();

test("kubectl shows an aggregated API, and says which one is missing", {
  skip: kubectls.length === 0 && "no kubectl",
}, async (t) => {
  const { kubectl } = await world(t);
  for (const { path, version } of new Set([kubectls[0], kubectls.at(-1)].filter((one) => one !== undefined))) {
    const services = (await kubectl(path, "get", "apiservices")).stdout.split("\n").map((line) => line.split(/\s+/));
    assert.deepEqual(services[1]?.slice(0, 3), [`v1.${group}`, "sea/aqua", "True"], version);
    assert.deepEqual(services[2]?.slice(0, 4), ["v1.broken.example.com", "sea/nowhere", "False", "(ServiceNotFound)"]);
    const fish = await kubectl(path, "get", "fishes", "-A", "-o", "name");
    assert.equal(fish.stdout, "fish.aqua.example.com/nemo\n", fish.stderr);
    assert.equal(
      (await kubectl(path, "get", "fi", "nemo", "-n", "sea", "-o", "jsonpath={.spec.scales}")).stdout,
      "true",
    );
    const resources = await kubectl(path, "api-resources", `--api-group=${group}`, "-o", "name");
    assert.equal(resources.stdout, `fishes.${group}\n`);
    // Newer ones leave out what they are told is stale; older ones ask for each version, and say which does not answer.
    const resourcesOfAll = await kubectl(path, "api-resources");
    assert.match(resourcesOfAll.stdout, /^deployments /m);
    if (minorOf(version) < 26) assert.match(JSON.stringify(resourcesOfAll), /unable to handle the request/);
    const direct = await kubectl(path, "get", "--raw", "/apis/broken.example.com/v1");
    assert.match(direct.stderr, /unable to handle the request/);
    assert.equal((await kubectl(path, "get", "namespace", "sea", "-o", "name")).stdout, "namespace/sea\n");
    assert.match(
      (await kubectl(path, "describe", "apiservice", "v1.broken.example.com")).stdout,
      /service\/nowhere in "sea" is not present/,
    );
  }
});
