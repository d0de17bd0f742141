import assert from "node:assert/strict";
import { test } from "node:test";
import { CompilationError, EvaluationError } from "./environment.ts";
import { kubernetesEnvironment } from "./kubernetes.ts";
import { dynType, intType } from "./types.ts";
import { jsonOfValue, valueOfJson } from "./values/json.ts";

const environment = kubernetesEnvironment().extend({
  variables: new Map([
    ["x", intType],
    ["object", dynType],
  ]),
});
const object = valueOfJson({
  metadata: { name: "a", labels: { "a/b": "c" } },
  spec: { replicas: 3, list: [1, 2.5, "s"] },
});
const variables = new Map([
  ["x", 5],
  ["object", object],
]);

function evaluate(source: string): unknown {
  return jsonOfValue(environment.compile(source).evaluate(variables).value);
}

const values: readonly [string, unknown][] = [
  ["1 + 2 * 3 - 4 / 2 % 3", 5],
  ["x > 3 && object.spec.replicas == 3", true],
  ["object.metadata.labels['a/b'] + 'd'", "cd"],
  ["[1, 2, 3].map(y, y * 2).filter(y, y > 2)", [4, 6]],
  ["[1, 2, 3].exists_one(y, y == 2)", true],
  ["{'a': 1}.transformMap(k, v, v + 1)", { a: 2 }],
  ["object.spec.list.map(e, type(e) == string)", [false, false, true]],
  ["object.?spec.?missing.orValue('none')", "none"],
  ["has(object.spec.replicas) && !has(object.spec.missing)", true],
  ["1 / 0 == 1 || true", true],
  ["[0, 1].exists(y, 1 / y == 1)", true],
  ["size('😀a') == 2 && '😀a'.charAt(1) == 'a'", true],
  ["[1, 2] + [3]", [1, 2, 3]],
  ["timestamp('2020-02-29T23:00:00Z') + duration('1h')", "2020-03-01T00:00:00Z"],
  ["string(9223372036854775807)", "9223372036854775807"],
  ["1 == 1 ? 'yes' : 'no'", "yes"],
  ["optional.of(3).optMap(v, v + 1).value()", 4],
];

for (const [source, value] of values)
  test(`${source} is ${JSON.stringify(value)}`, () => assert.deepEqual(evaluate(source), value));

const failures: readonly [string, string][] = [
  ["object.missing", "no such key: missing"],
  ["[1][x]", "index out of bounds: 5"],
  ["x / (x - 5)", "division by zero"],
  ["9223372036854775807 + x", "integer overflow"],
  ["object.metadata.name > 1", "no such overload"],
  ["int(object.metadata.name)", "type conversion error from 'string' to 'int'"],
  ["[0, 1].all(y, 1 / y == 1)", "division by zero"],
];

for (const [source, message] of failures)
  test(`${source} fails: ${message}`, () => {
    assert.throws(
      () => evaluate(source),
      (error) => error instanceof EvaluationError && error.message === message,
    );
  });

test("an expression that costs too much is cut off", () => {
  const ten = "[1,2,3,4,5,6,7,8,9,10]";
  const source = `${ten}.all(a, ${ten}.all(b, ${ten}.all(c, ${ten}.all(d, ${ten}.all(e, ${ten}.all(f, a+b+c+d+e+f > 0))))))`;
  assert.throws(
    () => evaluate(source),
    (error) =>
      error instanceof EvaluationError &&
      error.isOverLimit &&
      error.message === "operation cancelled: actual cost limit exceeded",
  );
});

test("an expression that is no expression is refused with the place", () => {
  assert.throws(
    () => environment.compile("object."),
    (error) =>
      error instanceof CompilationError &&
      error.message === "ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | object.\n | .......^",
  );
});
