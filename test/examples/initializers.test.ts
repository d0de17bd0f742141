import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { catalog, onRequest } from "#api/catalog.ts";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { runInitializer } from "../../examples/04-initializers/initializer.ts";
import { passwordLength, sidecar } from "../../examples/04-initializers/initializers.ts";

test("the examples put a container into pods, and refuse secrets that are too short", async () => {
  await using server = await testServer({
    admission: admissionOf({ enable: ["Initializers"], disable: ["ServiceAccount"] }),
    kinds: [...catalog, ...onRequest],
    initializes: true,
  });
  const { call } = server;
  const stop = new AbortController();
  const access = { transport: server.server.request, user: testUser };
  const running = [sidecar, passwordLength].map((one) => runInitializer(one, access, stop.signal));
  const yaml = readFileSync(new URL("../../examples/04-initializers/configuration.yaml", import.meta.url), "utf8");
  const configurations = "/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations";
  await call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  assert.equal((await call("POST", configurations, yaml, { "content-type": "application/yaml" })).code, 201);

  const pod = { metadata: { name: "web" }, spec: { containers: [{ name: "web", image: "nginx" }] } };
  const { code, json } = await call("POST", "/api/v1/namespaces/default/pods", pod);
  const names = json.spec.containers.map(({ name }: { name: string }) => name);
  assert.deepEqual([code, names], [201, ["web", "proxy"]]);
  const secret = (name: string, password: string) =>
    call("POST", "/api/v1/namespaces/default/secrets", { metadata: { name }, stringData: { password } });
  const refused = await secret("short", "abc");
  assert.deepEqual([refused.code, refused.json.message], [422, "password is shorter than 8 bytes"]);
  assert.equal((await secret("long", "long enough")).code, 201);
  stop.abort(new Error("the test is over"));
  await Promise.allSettled(running);
});
