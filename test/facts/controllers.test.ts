import assert from "node:assert/strict";
import { test } from "node:test";
import { fixedDiscovery } from "#client/discovery.ts";
import { controllerSwitch, knownControllers } from "../../src/cluster/controller-switches.ts";
import { controllers } from "../../src/controllers/list.ts";
import { facts, missing } from "./facts.ts";

interface ControllerFact {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly onByDefault: boolean;
  readonly serviceAccount?: string;
  readonly cloudProvider?: boolean;
}

/** Components of their own, which the list of controllers does not have. */
const components = ["garbage-collector-controller", "pod-garbage-collector-controller", "resourcequota-controller"];

/** Controllers of upstream that there are none of here, and why. A gate is the one that is off by default. */
const absent: Readonly<Record<string, string>> = {
  "cloud-node-lifecycle-controller": "a cloud's own manager has it",
  "kube-apiserver-serving-clustertrustbundle-publisher-controller": "gate ClusterTrustBundle",
  "node-route-controller": "a cloud's own manager has it",
  "podcertificaterequest-cleaner-controller": "gate PodCertificateRequest",
  "podgroup-protection-controller": "gate GenericWorkload",
  "resourcepoolstatusrequest-controller": "gate DRAResourcePoolStatus",
  "selinux-warning-controller": "off by default",
  "storage-version-migrator-controller": "gate StorageVersionMigrator",
  "storageversion-garbage-collector-controller": "gate StorageVersionAPI",
};

test("controllers have upstream's names and service accounts", { skip: missing }, () => {
  const known = new Map(
    facts<{ readonly controllers: readonly ControllerFact[] }>("controllers").controllers.map((one) => [one.name, one]),
  );
  const ours = controllers({ discovery: fixedDiscovery([]), rootCa: "", nodeIpam: { clusterCidrs: ["10.0.0.0/8"] } });
  assert.deepEqual(
    ours.map(({ name, serviceAccount }) => [name, serviceAccount]),
    // Of what upstream leaves to the cloud's own manager no account is known.
    ours.map(({ name, serviceAccount }) => {
      const fact = known.get(name);
      return [fact?.name, fact && "serviceAccount" in fact ? fact.serviceAccount : serviceAccount];
    }),
  );
});

test("no controller of upstream's is missing but those that do not run by default, or that clouds bring", {
  skip: missing,
}, () => {
  const all = facts<{ readonly controllers: readonly ControllerFact[] }>("controllers").controllers;
  const gates = new Map(
    facts<{ readonly gates: readonly { readonly name: string; readonly default: boolean }[] }>(
      "featuregates",
    ).gates.map((gate) => [gate.name, gate.default]),
  );
  const present = new Set([
    ...components,
    ...controllers({
      discovery: fixedDiscovery([]),
      rootCa: "",
      nodeIpam: { clusterCidrs: ["10.0.0.0/8"] },
      signing: { signerFor: () => undefined, durationMs: 1 },
      signToken: () => Promise.reject(new Error("no token is signed here")),
    }).map(({ name }) => name),
  ]);
  const lacking = all.filter(({ name }) => !present.has(name));
  assert.deepEqual(lacking.map(({ name }) => name).toSorted(), Object.keys(absent).toSorted());
  for (const { name, onByDefault, cloudProvider } of lacking) {
    const [, gate] = /^gate (\w+)$/.exec(absent[name] ?? "") ?? [];
    assert.ok(gate ? gates.get(gate) === false : cloudProvider || !onByDefault, `${name}: ${absent[name]}`);
  }
});

test("--controllers knows upstream's controllers by all their names, and which run by default", {
  skip: missing,
}, () => {
  const all = facts<{ readonly controllers: readonly ControllerFact[] }>("controllers").controllers;
  assert.deepEqual(knownControllers.toSorted(), all.map(({ name }) => name).toSorted());
  const usual = controllerSwitch(["*"]);
  for (const { name, aliases, onByDefault } of all) {
    assert.equal(usual(name), onByDefault, name);
    for (const one of [name, ...aliases]) {
      assert.equal(controllerSwitch([one])(name), true, one);
      assert.equal(controllerSwitch(["*", `-${one}`])(name), false, one);
    }
  }
});
