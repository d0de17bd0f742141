import assert from "node:assert/strict";
import { test } from "node:test";
import { ValidatingAdmissionPolicy } from "#api/admissionregistration/v1/validating-admission-policy.ts";
import { validatingAdmissionPolicyStatusController } from "../../src/controllers/validatingadmissionpolicy-status.ts";
import { testCluster } from "./cluster.ts";

test("the status of a policy says what is wrong with its types, and of which generation, by an account that may do no more", async () => {
  await using c = await testCluster({
    controllers: [validatingAdmissionPolicyStatusController],
    serviceAccounts: { "validatingadmissionpolicy-status": "validatingadmissionpolicy-status-controller" },
  });
  const name = "replicas";
  const matchConstraints = {
    resourceRules: [
      { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE" as const], resources: ["deployments"] },
    ],
  };
  const policy = (expression: string) => ({
    metadata: { name },
    spec: { matchConstraints, validations: [{ expression }] },
  });
  await c.client.create(ValidatingAdmissionPolicy, policy("object.replicas > 1"));
  const status = async () => (await c.client.get(ValidatingAdmissionPolicy, { name })).status;
  await c.until(async () => (await status()).observedGeneration === 1);
  const [warning] = (await status()).typeChecking?.expressionWarnings ?? [];
  assert.equal(warning?.fieldRef, "spec.validations[0].expression");
  assert.match(warning?.warning ?? "", /^apps\/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'/);

  const present = await c.client.get(ValidatingAdmissionPolicy, { name });
  await c.client.update(ValidatingAdmissionPolicy, {
    ...present,
    spec: { ...present.spec, validations: [{ expression: "object.spec.replicas > 1" }] },
  });
  await c.until(async () => (await status()).observedGeneration === 2);
  assert.deepEqual((await status()).typeChecking?.expressionWarnings ?? [], []);
});
