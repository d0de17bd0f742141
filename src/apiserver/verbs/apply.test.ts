import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const asApply = { "content-type": "application/apply-patch+yaml" };

for (const dryRun of ["", "&dryRun=All"])
  test(`an apply${dryRun && " for trial"} succeeds, whoever makes or deletes the object meanwhile`, async () => {
    await using server = await testServer();
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
    const apply = (manager: string) =>
      server.call(
        "PATCH",
        `${configMaps}/a?fieldManager=${manager}&force=true${dryRun}`,
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { [manager]: "1" } },
        asApply,
      );
    for (let round = 0; round < 100; round++) {
      await server.call("POST", configMaps, { metadata: { name: "a" } });
      const [deleted, ...applied] = await Promise.all([
        server.call("DELETE", `${configMaps}/a`),
        apply("x"),
        apply("y"),
        apply("z"),
      ]);
      assert.equal(deleted.code, 200);
      for (const { code, text } of applied) assert.ok(code === 200 || code === 201, text);
      await server.call("DELETE", `${configMaps}/a`);
    }
  });
