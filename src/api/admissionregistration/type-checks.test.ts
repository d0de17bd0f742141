import assert from "node:assert/strict";
import { test } from "node:test";
import { declareKind } from "#schema/cel/kind-types.ts";
import type { AnyKind } from "#schema/kind.ts";
import { structuralKind } from "#schema/structural/kind.ts";
import { Deployment } from "../apps/v1/deployment.ts";
import { ConfigMap } from "../core/v1/config-map.ts";
import { Pod } from "../core/v1/pod.ts";
import { typeWarnings } from "./type-checks.ts";
import type { ValidatingAdmissionPolicySpec } from "./v1/validating-admission-policy.ts";

const Crate = structuralKind({
  group: "cargo.example",
  version: "v1",
  kind: "Crate",
  plural: "crates",
  scope: "Namespaced",
  doc: "",
  schema: {
    type: "object",
    properties: {
      spec: { type: "object", properties: { size: { type: "integer" }, at: { type: "string", format: "date-time" } } },
    },
  },
});

async function warned(
  kinds: readonly AnyKind[],
  expression: string,
  more: Partial<ValidatingAdmissionPolicySpec> = {},
  params?: AnyKind,
): Promise<readonly string[]> {
  const checked = kinds.map(async (kind) => ({ ...kind, declared: await declareKind(kind) }));
  const spec = { validations: [{ expression }], ...more } as ValidatingAdmissionPolicySpec;
  const found = typeWarnings(spec, await Promise.all(checked), params && (await declareKind(params)));
  return found.map(({ fieldRef, warning }) => `${fieldRef} ${warning}`);
}

test("a field that a kind does not have is told with the kind and the place", async () => {
  assert.deepEqual(await warned([Deployment], "object.replicas > 1"), [
    "spec.validations[0].expression apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n",
  ]);
});

test("what fits the schema of the kind is not told of", async () => {
  const fitting: readonly (readonly [AnyKind, string])[] = [
    [Deployment, "object.spec.replicas > 1 && object.metadata.name.startsWith('x')"],
    [Deployment, "object.spec.template.spec.containers.all(c, c.image != '')"],
    [
      Deployment,
      "object.metadata.labels['a'] == 'b' && object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')",
    ],
    [Pod, "object.spec.containers.all(c, !has(c.ports) || c.ports.all(p, p.containerPort > 0))"],
    [
      Pod,
      "!has(object.spec.containers[0].livenessProbe) || object.spec.containers[0].livenessProbe.httpGet.port == 80",
    ],
    [Crate, "object.spec.size > 1 && object.spec.at < timestamp('2030-01-01T00:00:00Z') && object.kind == 'Crate'"],
    [Crate, "authorizer.group('').resource('pods').check('get').allowed() || request.operation == 'CREATE'"],
  ];
  for (const [kind, expression] of fitting) assert.deepEqual(await warned([kind], expression), [], expression);
});

test("types that do not go together are told of each kind that has them so", async () => {
  const found = await warned([Deployment, Crate], "object.spec.size == 'x'");
  assert.deepEqual(found, [
    [
      "spec.validations[0].expression apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'size'",
      " | object.spec.size == 'x'",
      " | ...........^\n",
      "cargo.example/v1, Kind=Crate: ERROR: <input>:1:18: found no matching overload for '_==_' applied to '(int, string)'",
      " | object.spec.size == 'x'",
      " | .................^\n",
    ].join("\n"),
  ]);
});

test("messages, variables and parameters are checked as well; a variable that fails may be anything", async () => {
  const variables = [
    { name: "size", expression: "object.spec.size" },
    { name: "wrong", expression: "object.spec.nothing" },
  ];
  assert.deepEqual(await warned([Crate], "variables.size > 1 && variables.wrong == 2", { variables }), []);
  const text = await warned([Crate], "variables.size > 'a'", { variables });
  assert.match(text[0] ?? "", /found no matching overload for '_>_' applied to '\(int, string\)'/);
  const paramKind = { apiVersion: "v1", kind: "ConfigMap" };
  const params = await warned([Crate], "params.dta['x'] == 'y'", { paramKind }, ConfigMap);
  assert.match(params[0] ?? "", /undefined field 'dta'/);
  const message = await warned([Crate], "true", {
    validations: [{ expression: "true", messageExpression: "object.spec.oops" }] as never,
  });
  assert.match(message[0] ?? "", /^spec.validations\[0\].messageExpression cargo.example\/v1, Kind=Crate: /);
});
