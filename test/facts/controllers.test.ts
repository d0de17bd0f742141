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
}

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
