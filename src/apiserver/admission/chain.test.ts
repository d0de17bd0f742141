import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import { LimitRange } from "#api/core/v1/limit-range.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { RuntimeClass } from "#api/node/v1/runtime-class.ts";
import { PriorityClass } from "#api/scheduling/v1/priority-class.ts";
import { UsageError } from "#base/errors.ts";
import { tokenKeys } from "../host/token-keys.ts";
import { testServer } from "../testing.ts";
import { type AdmissionSettings, admissionOf, pluginsOf } from "./configuration.ts";
import { readAdmissionConfiguration } from "./configuration-file.ts";
import { allPlugins } from "./list.ts";
import { admissionPlugin } from "./plugin.ts";
import { AdmissionWorld, podWith } from "./testing.ts";

const factsFile = new URL("../../../../shared/facts/admission.json", import.meta.url);

describe("the list of plugins", () => {
  test("is in upstream's order, and on where upstream is", { skip: !existsSync(factsFile) }, () => {
    const { plugins } = JSON.parse(readFileSync(factsFile, "utf8")) as {
      plugins: readonly { name: string; onByDefault: boolean }[];
    };
    const ours = new Set(allPlugins.map(({ name }) => name));
    // Plugins of earlier versions, off by default.
    const historical = new Set(["SecurityContextDeny", "InitialResources", "Initializers"]);
    assert.deepEqual(
      allPlugins.filter(({ name, on }) => on || !historical.has(name)).map(({ name, on }) => [name, on]),
      plugins.filter(({ name }) => ours.has(name)).map(({ name, onByDefault }) => [name, onByDefault]),
    );
  });

  test("makes each plugin under its own name", () => {
    const enable = allPlugins.map(({ name }) => name);
    assert.deepEqual(
      pluginsOf({ enable }).map(({ name }) => name),
      enable,
    );
  });

  test("refuses names it does not know, and those that are both wanted and not", () => {
    assert.throws(
      () => pluginsOf({ enable: ["Nonsense"] }),
      new UsageError('--enable-admission-plugins: "Nonsense" is not an admission plugin'),
    );
    assert.doesNotThrow(() => pluginsOf({ disable: ["ImagePolicyWebhook"] }));
    assert.throws(
      () => pluginsOf({ enable: ["Priority"], disable: ["Priority"] }),
      new UsageError("Priority in enable-admission-plugins and disable-admission-plugins overlapped"),
    );
  });
});

function furnishedWorld(): AdmissionWorld {
  const world = new AdmissionWorld();
  world.have(Namespace, {
    metadata: {
      name: "default",
      annotations: {
        "scheduler.alpha.kubernetes.io/node-selector": "disk=ssd",
        "scheduler.alpha.kubernetes.io/defaultTolerations": '[{"key":"d","operator":"Exists"}]',
      },
    },
  });
  world.have(ServiceAccount, { metadata: { name: "default" }, imagePullSecrets: [{ name: "pull" }] });
  world.have(Node, { metadata: { name: "n", labels: { "topology.kubernetes.io/zone": "z" } } });
  world.have(PriorityClass, { metadata: { name: "high" }, value: 10 });
  world.have(PriorityClass, { metadata: { name: "usual" }, value: 1, globalDefault: true });
  world.have(RuntimeClass, {
    metadata: { name: "sandbox" },
    handler: "h",
    overhead: { podFixed: { cpu: "10m" } },
    scheduling: { tolerations: [{ key: "s", operator: "Exists" }] },
  });
  for (const name of ["a", "b"])
    world.have(LimitRange, {
      metadata: { name },
      spec: { limits: [{ type: "Container", default: { cpu: "1", memory: name === "a" ? "1Gi" : "2Gi" } }] },
    });
  return world;
}

/** All that change pods, whether on or off. */
const mutating = pluginsOf({
  enable: ["AlwaysPullImages", "PodNodeSelector", "PodTolerationRestriction", "ExtendedResourceToleration"],
});

const toleration = fc.record(
  {
    key: fc.constantFrom("d", "s", "x", "node.kubernetes.io/not-ready"),
    operator: fc.constantFrom("Exists", "Equal"),
    effect: fc.constantFrom("NoSchedule", "NoExecute"),
  },
  { requiredKeys: ["key", "operator"] },
);
const container = fc.record({
  name: fc.constantFrom("a", "b", "c"),
  image: fc.constantFrom("i", "i:1"),
  resources: fc.constantFrom(
    {},
    { requests: { cpu: "1" } },
    { limits: { "example.com/gpu": "1" } },
    { limits: { memory: "1Gi" } },
  ),
});
const podSpec = fc.record(
  {
    containers: fc.uniqueArray(container, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
    tolerations: fc.array(toleration, { maxLength: 4 }),
    nodeName: fc.constant("n"),
    priorityClassName: fc.constantFrom("high", "usual"),
    runtimeClassName: fc.constant("sandbox"),
    automountServiceAccountToken: fc.boolean(),
    nodeSelector: fc.constantFrom({}, { a: "b" }),
  },
  { requiredKeys: ["containers"] },
);

describe("the chain", () => {
  test("changes nothing more when it is run again", async () => {
    await fc.assert(
      fc.asyncProperty(podSpec, async (spec) => {
        const world = furnishedWorld();
        const once = await world.admit(mutating, Pod, { metadata: { name: "p" }, spec });
        assert.equal(once.refusal, "");
        const twice = await world.admit(mutating, Pod, once.object);
        assert.equal(twice.refusal, "");
        assert.deepEqual(twice.object, once.object);
      }),
      { numRuns: 200 },
    );
  });

  test("does nothing of what is disabled", async () => {
    const all = allPlugins.map(({ name }) => name);
    const before = new AdmissionWorld().made(Pod, podWith());
    const { object, refusal } = await new AdmissionWorld().admit(pluginsOf({ disable: all }), Pod, podWith());
    assert.equal(refusal, "");
    assert.deepEqual(object, before);
    const { object: rest } = await furnishedWorld().admit(pluginsOf({ disable: ["ServiceAccount"] }), Pod, podWith());
    assert.equal(rest.spec.serviceAccountName, undefined);
    assert.equal(rest.spec.priority, 1);
  });

  test("lets plugins that validate see what those before them made", async () => {
    const seen: string[] = [];
    const mutate = admissionPlugin({
      name: "A",
      on: { kind: Pod, verbs: ["create"] },
      validate: ({ object }) => {
        seen.push(object.spec.nodeName ?? "");
        return undefined;
      },
      mutate({ object }) {
        seen.push(`mutate ${object.spec.nodeName ?? ""}`);
        return undefined;
      },
    });
    const later = admissionPlugin({
      name: "B",
      on: { kind: Pod, verbs: ["create"] },
      mutate({ object }) {
        object.spec.nodeName = "n";
      },
    });
    await new AdmissionWorld().admit([mutate, later], Pod, podWith());
    assert.deepEqual(seen, ["mutate ", "n"]);
  });

  test("tells warnings along with the answer of the server", async () => {
    const settings: AdmissionSettings = { disable: ["ServiceAccount"] };
    await using server = await testServer({ admission: admissionOf(settings) });
    const labels = { "pod-security.kubernetes.io/warn": "baseline" };
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default", labels } });
    const { code, headers } = await server.call("POST", "/api/v1/namespaces/default/pods", podWith({ hostPID: true }));
    assert.equal(code, 201);
    assert.match(
      JSON.stringify(headers),
      /299 - \\"would violate PodSecurity .*baseline:latest.*: host namespaces \(hostPID=true\)/,
    );
  });

  test("keeps a terminating namespace from filling up again", async () => {
    await using server = await testServer({ admission: admissionOf({ disable: ["ServiceAccount"] }) });
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "gone" } });
    await server.call("DELETE", "/api/v1/namespaces/gone");
    const { code, json } = await server.call("POST", "/api/v1/namespaces/gone/configmaps", { metadata: { name: "m" } });
    assert.equal(code, 403);
    assert.equal(
      json.message,
      'configmaps "m" is forbidden: unable to create new content in namespace gone because it is being terminated',
    );
    const lost = await server.call("POST", "/api/v1/namespaces/lost/configmaps", { metadata: { name: "m" } });
    assert.deepEqual([lost.code, lost.json.message], [404, 'namespaces "lost" not found']);
  });
});

describe("the chain in a server", () => {
  test("makes the namespace of the first object in it", async () => {
    const admission = admissionOf({ enable: ["NamespaceAutoProvision"] });
    await using server = await testServer({ admission });
    const { code } = await server.call("POST", "/api/v1/namespaces/fresh/configmaps", { metadata: { name: "m" } });
    assert.equal(code, 201);
    assert.equal((await server.call("GET", "/api/v1/namespaces/fresh")).json.status.phase, "Active");
  });

  test("gives a bound pod the zone of its node", async () => {
    await using server = await testServer({ admission: admissionOf({ disable: ["ServiceAccount"] }) });
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
    const labels = { "topology.kubernetes.io/zone": "z" };
    await server.call("POST", "/api/v1/nodes", { metadata: { name: "n", labels } });
    await server.call("POST", "/api/v1/namespaces/default/pods", podWith());
    const binding = { metadata: { name: "p" }, target: { kind: "Node", name: "n" } };
    const { code, text } = await server.call("POST", "/api/v1/namespaces/default/pods/p/binding", binding);
    assert.equal(code, 201, text);
    const { json } = await server.call("GET", "/api/v1/namespaces/default/pods/p");
    assert.deepEqual([json.spec.nodeName, json.metadata.labels], ["n", labels]);
  });

  test("keeps nodes to their own pods, in subresources and evictions as well", async () => {
    const node = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
    const admission = admissionOf({ enable: ["NodeRestriction"], disable: ["ServiceAccount"] });
    const authorizers = () => [() => ({ decision: "allow" }) as const];
    const { privateKey } = generateKeyPairSync("ec", {
      namedCurve: "P-256",
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    const serviceAccounts = {
      keys: tokenKeys(privateKey),
      issuers: ["https://issuer.example"],
      extendExpiration: true,
    };
    await using server = await testServer({ admission, authorizers, users: { node }, serviceAccounts });
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
    await server.call("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "sa" } });
    await server.call("POST", "/api/v1/namespaces/default/pods", podWith({ nodeName: "n2" }));
    const asNode = { authorization: "Bearer node" };
    const pods = "/api/v1/namespaces/default/pods";
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    const token = await server.call("POST", `${accounts}/sa/token`, { spec: { audiences: [] } }, asNode);
    assert.equal(token.json.message, 'serviceaccounts "sa" is forbidden: node requested token not bound to a pod');
    const eviction = await server.call("POST", `${pods}/p/eviction`, { metadata: { name: "p" } }, asNode);
    assert.equal(
      eviction.json.message,
      'pods "p" is forbidden: node n1 can only evict pods with spec.nodeName set to itself',
    );
    const deletion = await server.call("DELETE", `${pods}/p`, undefined, asNode);
    assert.equal(
      deletion.json.message,
      'pods "p" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
    );
  });
});

describe("the file of settings", () => {
  const files: Readonly<Record<string, string>> = {
    "all.yaml": `
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: { enforce: baseline, enforce-version: v1.30, warn: restricted }
    exemptions: { namespaces: [kube-system], usernames: [root] }
- name: ResourceQuota
  path: quota.yaml
- name: EventRateLimit
  configuration: { limits: [{ type: Namespace, qps: 50, burst: 100 }] }
- name: PodNodeSelector
  configuration: { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: "a=b", ns: "c=d" } }
- name: PodTolerationRestriction
  configuration: { default: [{ key: a, operator: Exists }], whitelist: [] }
`,
    "quota.yaml": `
apiVersion: apiserver.config.k8s.io/v1
kind: ResourceQuotaConfiguration
limitedResources:
- resource: pods
  matchScopes: [{ scopeName: PriorityClass, operator: In, values: [high] }]
`,
  };
  const read = (path: string, from?: string) => {
    if (path === "quota.yaml") assert.equal(from, "all.yaml");
    return files[path] ?? path;
  };

  test("is read with the files it names", () => {
    assert.deepEqual(readAdmissionConfiguration("all.yaml", read), {
      podSecurity: {
        defaults: {
          enforce: { level: "baseline", minor: 30 },
          audit: { level: "privileged", minor: "latest" },
          warn: { level: "restricted", minor: "latest" },
        },
        exemptions: { usernames: ["root"], namespaces: ["kube-system"], runtimeClasses: [] },
      },
      resourceQuota: {
        limitedResources: [
          {
            apiGroup: "",
            resource: "pods",
            matchContains: [],
            matchScopes: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }],
          },
        ],
      },
      eventLimits: [{ type: "Namespace", qps: 50, burst: 100, cacheSize: 0 }],
      podNodeSelector: { clusterDefault: "a=b", whitelists: { ns: "c=d" } },
      podTolerations: { defaults: [{ key: "a", operator: "Exists" }], whitelist: [] },
    });
  });

  const file = (plugin: string) =>
    `{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AdmissionConfiguration","plugins":[${plugin}]}`;
  const security = (rest: string) =>
    file(
      `{"name":"PodSecurity","configuration":{"apiVersion":"pod-security.admission.config.k8s.io/v1","kind":"PodSecurityConfiguration",${rest}}}`,
    );
  const wrong: readonly (readonly [string, RegExp])[] = [
    ["[", /invalid YAML/],
    ["[]", /must be an object/],
    ["{}", /expected a AdmissionConfiguration/],
    [file('{"name":"Nonsense"}'), /"Nonsense" is not a plugin with settings/],
    [file('{"name":"PodSecurity"}'), /must be an object/],
    [
      security('"defaults":{"enforce":"strict"}'),
      /defaults.enforce: Invalid value: "strict": must be one of privileged, baseline, restricted/,
    ],
    [
      security('"defaults":{"warn-version":"1.2"}'),
      /defaults.warn-version: Invalid value: "1.2": must be "latest" or "v1.x"/,
    ],
    [security('"exemptions":{"namespaces":["a","a"]}'), /exemptions.namespaces\[1\]: Duplicate value: "a"/],
    [security('"exemptions":{"usernames":[""]}'), /username must not be empty/],
    [
      file('{"name":"EventRateLimit","configuration":{"limits":[{"type":"Server","qps":0,"burst":1}]}}'),
      /qps: must be a whole number of at least 1, not 0/,
    ],
    [file('{"name":"ResourceQuota","configuration":{"limitedResources":[{}]}}'), /resource: Required value/],
  ];
  for (const [text, why] of wrong)
    test(`is refused: ${why.source}`, () => {
      assert.throws(
        () => readAdmissionConfiguration(text, read),
        (error) => error instanceof UsageError && why.test(error.message),
      );
    });
});
