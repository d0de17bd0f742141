import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { Service } from "#api/core/v1/service.ts";
import { world } from "#client/testing.ts";
import { podOf } from "../testing.ts";
import { environmentOf, expandVariables } from "./environment.ts";
import { filesOf } from "./files.ts";
import { InputMissing, type InputSources, type PodContext } from "./sources.ts";

const w = world();
const namespace = "default";
const settings = w.have(ConfigMap, {
  metadata: { name: "settings", namespace },
  data: { COLOUR: "blue", "a.txt": "A" },
});
const hidden = w.have(Secret, { metadata: { name: "hidden", namespace }, data: { PASSWORD: btoa("geheim") } });
const service = (name: string, address: string, port: number) =>
  w.have(Service, {
    metadata: { name, namespace },
    spec: { clusterIP: address, clusterIPs: [address], ports: [{ name: "http", port, protocol: "TCP" }] },
  });
const services = [service("kubernetes", "10.96.0.1", 443), service("my-db", "10.96.0.9", 80)];
const sources: InputSources = {
  configMap: async (_, name) => (name === "settings" ? settings : undefined),
  secret: async (_, name) => (name === "hidden" ? hidden : undefined),
  services: async () => services,
  knownServices: () => [],
  token: async (_, audience, seconds) => `token for ${audience} of ${seconds} s`,
  claim: async () => undefined,
  persistentVolume: async () => undefined,
};
const place: PodContext = {
  podIps: ["10.244.0.5"],
  hostIps: ["172.31.0.10"],
  allocatable: { cpu: "2", memory: "1Gi" },
};

async function variables(container: object, spec: object = {}): Promise<Record<string, string>> {
  const pod = podOf({ enableServiceLinks: false, ...spec, containers: [{ name: "c", image: "i", ...container }] });
  const [own] = pod.spec.containers;
  assert.ok(own);
  const all = await environmentOf(pod, own, sources, place);
  return Object.fromEntries(
    all.filter(({ name }) => !name.startsWith("KUBERNETES_")).map(({ name, value }) => [name, value]),
  );
}
const from = (name: string, valueFrom: object) => ({ env: [{ name, valueFrom }] });

const cases: readonly (readonly [string, object, Record<string, string>])[] = [
  [
    "literals that use each other",
    {
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "$(A)2 $(C) $$(A)" },
      ],
    },
    { A: "1", B: "12 $(C) $(A)" },
  ],
  ["the pod's name", from("X", { fieldRef: { fieldPath: "metadata.name" } }), { X: "web" }],
  ["the pod's address", from("X", { fieldRef: { fieldPath: "status.podIP" } }), { X: "10.244.0.5" }],
  [
    "a limit in units",
    {
      ...from("X", { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } }),
      resources: { limits: { cpu: "1500m" } },
    },
    { X: "1500" },
  ],
  [
    "a limit rounded up",
    { ...from("X", { resourceFieldRef: { resource: "limits.cpu" } }), resources: { limits: { cpu: "1500m" } } },
    { X: "2" },
  ],
  [
    "a limit that is the node's",
    from("X", { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } }),
    { X: "1024" },
  ],
  ["a key of a config map", from("X", { configMapKeyRef: { name: "settings", key: "COLOUR" } }), { X: "blue" }],
  ["a key of a secret", from("X", { secretKeyRef: { name: "hidden", key: "PASSWORD" } }), { X: "geheim" }],
  ["an optional key", from("X", { secretKeyRef: { name: "none", key: "k", optional: true } }), {}],
  [
    "whole objects",
    { envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }, { secretRef: { name: "hidden" } }] },
    { P_COLOUR: "blue", "P_a.txt": "A", PASSWORD: "geheim" },
  ],
];
test("the environment takes a variable of a file that was written before", async () => {
  const of = (file: { key: string; optional?: boolean }, text = "COLOUR='blue'\nNONE=''") => {
    const fileKeyRef = { volumeName: "v", path: "conf/env", ...file };
    const pod = podOf({ containers: [{ name: "c", image: "i", env: [{ name: "X", valueFrom: { fileKeyRef } }] }] });
    const [own] = pod.spec.containers;
    assert.ok(own);
    const fileOf = async (volume: string, path: string) => {
      assert.deepEqual([volume, path], ["v", "conf/env"]);
      return text;
    };
    return environmentOf(pod, own, sources, { ...place, fileOf });
  };
  const found = async (file: { key: string; optional?: boolean }) =>
    (await of(file)).find(({ name }) => name === "X")?.value;
  assert.equal(await found({ key: "COLOUR" }), "blue");
  assert.equal(await found({ key: "NONE", optional: true }), undefined);
  await assert.rejects(
    of({ key: "NONE" }),
    new InputMissing('environment variable key "NONE" not found in file "conf/env"'),
  );
  await assert.rejects(of({ key: "X", optional: true }, "?"), {
    name: "InputMissing",
    message: "couldn't parse env file",
  });
});

for (const [name, container, expected] of cases)
  test(`the environment takes ${name}`, async () => assert.deepEqual(await variables(container), expected));

test("the environment says what is missing", async () => {
  const missing = (valueFrom: object) => variables(from("X", valueFrom));
  await assert.rejects(
    missing({ configMapKeyRef: { name: "none", key: "k" } }),
    new InputMissing('configmap "none" not found'),
  );
  await assert.rejects(
    missing({ configMapKeyRef: { name: "settings", key: "k" } }),
    /couldn't find key k in ConfigMap default\/settings/,
  );
  await assert.rejects(variables({ envFrom: [{ secretRef: { name: "none" } }] }), /secret "none" not found/);
});

test("the environment names the services, and always the API", async () => {
  const named = await variables({}, { enableServiceLinks: true });
  assert.deepEqual(
    [named.MY_DB_SERVICE_HOST, named.MY_DB_SERVICE_PORT_HTTP, named.MY_DB_PORT_80_TCP_ADDR, named.MY_DB_PORT],
    ["10.96.0.9", "80", "10.96.0.9", "tcp://10.96.0.9:80"],
  );
  const pod = podOf({ enableServiceLinks: false });
  const [own] = pod.spec.containers;
  assert.ok(own);
  const all = await environmentOf(pod, own, sources, place);
  assert.ok(all.some(({ name, value }) => name === "KUBERNETES_SERVICE_HOST" && value === "10.96.0.1"));
  assert.ok(!all.some(({ name }) => name.startsWith("MY_DB")));
});

test("variables stand for others only where they are known", () => {
  assert.equal(expandVariables("$(A) $$(A) $(B) $A $", new Map([["A", "x"]])), "x $(A) $(B) $A $");
});

test("a projected volume has the files of all its sources", async () => {
  const pod = podOf({
    volumes: [
      {
        name: "all",
        projected: {
          sources: [
            { configMap: { name: "settings", items: [{ key: "a.txt", path: "sub/a", mode: 0o400 }] } },
            { secret: { name: "hidden" } },
            { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
            { serviceAccountToken: { path: "token", audience: "x", expirationSeconds: 600 } },
          ],
        },
      },
    ],
  });
  const [volume] = pod.spec.volumes ?? [];
  assert.ok(volume);
  const files = await filesOf(pod, volume, sources, place);
  assert.deepEqual(
    files?.map(({ path, content, mode }) => [path, new TextDecoder().decode(content), mode]),
    [
      ["sub/a", "A", 0o400],
      ["PASSWORD", "geheim", 0o644],
      ["labels", "", 0o644],
      ["token", "token for x of 600 s", 0o644],
    ],
  );
});
