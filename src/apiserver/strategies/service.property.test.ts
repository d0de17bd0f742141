import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Service } from "#api/core/v1/service.ts";
import { type TestServer, testServer } from "../testing.ts";

const services = "/api/v1/namespaces/default/services";
/** Room for as many addresses and node ports as there are names, and a few more. */
const ranges = { addresses: "10.0.0.0/28,fd00::/124", nodePorts: "30000-30029" };
const names = ["a", "b", "c", "d", "e", "f"];

const spec = fc.oneof(
  fc.record({
    type: fc.constantFrom("ClusterIP", "NodePort", "LoadBalancer"),
    ipFamilyPolicy: fc.constantFrom("SingleStack", "PreferDualStack", "RequireDualStack"),
    ports: fc.constantFrom(
      [{ port: 80 }],
      [
        { name: "t", port: 53 },
        { name: "u", port: 53, protocol: "UDP" },
      ],
    ),
  }),
  fc.constant({ type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [{ port: 1 }] }),
  fc.record({
    clusterIP: fc.integer({ min: 1, max: 14 }).map((last) => `10.0.0.${last}`),
    ports: fc.constant([{ port: 1 }]),
  }),
  fc.record({
    type: fc.constant("NodePort"),
    ports: fc.integer({ min: 30000, max: 30030 }).map((nodePort) => [{ port: 1, nodePort }]),
  }),
  fc.constant({ type: "ExternalName", externalName: "x.y" }),
  fc.constant({ clusterIP: "None", ports: [{ port: 1 }] }),
);
const step = fc.record({
  method: fc.constantFrom("PUT", "PUT", "DELETE"),
  name: fc.constantFrom(...names),
  dryRun: fc.boolean(),
  spec,
});

async function held(server: TestServer): Promise<readonly unknown[]> {
  const { json } = await server.call("GET", services);
  return json.items.flatMap(({ spec }: Service) => [
    ...(spec.clusterIPs ?? []).filter((ip) => ip !== "None"),
    ...new Set([...(spec.ports ?? []).map(({ nodePort }) => nodePort), spec.healthCheckNodePort].filter(Boolean)),
  ]);
}

test("whatever happens at once to services, no two share an address or a node port, and none is lost", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 8 }), async (rounds) => {
      await using server = await testServer(ranges);
      for (const round of rounds) {
        const answers = await Promise.all(
          round.map(({ method, name, dryRun, spec }) =>
            server.call(
              method,
              `${services}/${name}${dryRun ? "?dryRun=All" : ""}`,
              method === "PUT" ? { metadata: { name }, spec } : undefined,
            ),
          ),
        );
        for (const { code, text } of answers) assert.ok([200, 201, 404, 409, 422].includes(code), text);
        const things = await held(server);
        assert.equal(new Set(things).size, things.length, things.join());
      }
      for (const name of names) await server.call("DELETE", `${services}/${name}`);
      const all = Array.from({ length: 14 }, (_, i) =>
        server.call("PUT", `${services}/z${i}`, { metadata: { name: `z${i}` }, spec: { ports: [{ port: 1 }] } }),
      );
      assert.deepEqual([...new Set((await Promise.all(all)).map(({ code }) => code))], [201]);
    }),
    { numRuns: 60 },
  );
});
