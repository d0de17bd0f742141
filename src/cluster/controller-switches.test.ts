import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerSwitch } from "./controller-switches.ts";

test("controllers are switched by name, by their older name, or all together", () => {
  const [deployment, signer] = ["deployment-controller", "bootstrap-signer-controller"];
  for (const [switches, isDeploymentOn, isSignerOn] of [
    [["*"], true, false],
    [["*", "bootstrapsigner"], true, true],
    [["*", "-deployment"], false, false],
    [["-deployment-controller", "*"], false, false],
    [["deployment"], true, false],
    [["-deployment", "deployment", "*"], false, false],
  ] as const) {
    const isOn = controllerSwitch(switches);
    assert.deepEqual([isOn(deployment), isOn(signer)], [isDeploymentOn, isSignerOn], switches.join());
  }
});

test("an unknown controller is named", () => {
  for (const name of ["deploymnet", "-", "constructor"])
    assert.throws(() => controllerSwitch(["*", name]), { name: "UsageError", message: /is not in the list of known/ });
});
