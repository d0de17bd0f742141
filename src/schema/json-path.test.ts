import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonPath, JsonPathError } from "./json-path.ts";

const value = {
  kind: "List",
  items: [
    { kind: "None", metadata: { name: "127.0.0.1", labels: { "a.b/c": "x" } }, status: { capacity: { cpu: "4" } } },
    { kind: "None", metadata: { name: "127.0.0.2" }, status: { capacity: { cpu: "8" } } },
  ],
  users: [
    { name: "myself", user: { age: 20, isAdmin: true } },
    { name: "e2e", user: { username: "admin", password: "secret", age: 7.5 } },
  ],
};

const table: readonly (readonly [string, string])[] = [
  ["kind is {.kind}", "kind is List"],
  ["{.items[0].metadata.name}", "127.0.0.1"],
  ["{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"],
  ["{.items[*]['metadata.name', 'status.capacity']}", '127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}'],
  ["{range .items[*]}[{.metadata.name}, {.status.capacity.cpu}] {end}", "[127.0.0.1, 4] [127.0.0.2, 8] "],
  ['{.users[?(@.name=="e2e")].user.password}', "secret"],
  ["{.users[?(@.user.isAdmin)].name}", "myself"],
  ["{.users[-1].name}", "e2e"],
  ["{.users[0:2].name}", "myself e2e"],
  ["{.users[0:2:2].name}", "myself"],
  ["{.users[0:0].name}", ""],
  ["{..cpu}", "4 8"],
  ["{.items[0].metadata.labels.a\\.b/c}", "x"],
  ["{.items[0].metadata.labels['a\\.b/c']}", "x"],
  ["{.items[0]..name}", "127.0.0.1"],
  ["{.users[0].user}", '{"age":20,"isAdmin":true}'],
  ['{"\\n"}{\'it\'}{"\\u0041"}', "\nitA"],
  ["{.users[*].user.age}", "20 7.5"],
  ["{range .nothing[*]}x{end}y", "y"],
  ["{@.kind}{$.kind}", "ListList"],
];

test("templates print what they find", () => {
  for (const [template, expected] of table)
    assert.equal(new JsonPath(template, { allowMissing: true }).print(value), expected, template);
});

const errors: readonly (readonly [string, string])[] = [
  ["{.a", "unclosed action"],
  ["{.items[0", "unterminated array"],
  ["{.items[?(@.x", "unterminated filter"],
  ["{.items[a]}", "invalid array index a"],
  ["{....a}", "invalid multiple recursive descent"],
  ["{#}", "unrecognized character in action: U+0023 '#'"],
  ['{"x}', "unterminated quoted string"],
  ["{.missing}", "missing is not found"],
  ["{.kind[0]}", "string is not array or slice"],
  ["{.items[5]}", "array index out of bounds: index 5, length 2"],
  ["{end}", "not in range, nothing to end"],
  ["{hello}", "unrecognized identifier hello"],
  ["{.users[?(@.name==3)]}", "incompatible types for comparison"],
];

test("what is wrong with a template or with the value is said in upstream's words", () => {
  for (const [template, message] of errors)
    assert.throws(
      () => new JsonPath(template).print(value),
      (error) => error instanceof JsonPathError && error.message === message,
      template,
    );
});

test("names that every object inherits are not found", () => {
  assert.deepEqual(new JsonPath("{.constructor}{.__proto__}", { allowMissing: true }).find({}), [[], []]);
});
