import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { problemText } from "./problem.ts";
import {
  exactValue,
  formatRequirements,
  formatSelector,
  labelMatcher,
  parseSelector,
  type Requirement,
  requirementsOf,
  requirementsOfLabels,
  SelectorError,
  selectorMatcher,
  selectorProblems,
  selectorStructOf,
} from "./selector.ts";

test("text becomes requirements, sorted by key, and text again", () => {
  const table: [string, string][] = [
    ["", ""],
    ["x=a,y=b,z=c", "x=a,y=b,z=c"],
    ["z=c,a==b", "a==b,z=c"],
    ["x!=a,y=b", "x!=a,y=b"],
    ["x=", "x="],
    ["x= ,z= ", "x=,z="],
    ["!x", "!x"],
    [" ! x , y ", "!x,y"],
    ["x>1,z<5", "x>1,z<5"],
    ["x in (b,a,b)", "x in (a,b)"],
    ["x in ()", "x in ()"],
    ["x in (,)", "x in ()"],
    ["x in (a,,b)", "x in (,a,b)"],
    ["x notin (a, b),y", "x notin (a,b),y"],
    ["in in (in,notin)", "in in (in,notin)"],
    ["notin=in", "notin=in"],
    ["example.com/Name in (a)", "example.com/Name in (a)"],
    ["x\t=\r\na", "x=a"],
  ];
  for (const [text, expected] of table) assert.equal(formatRequirements(parseSelector(text)), expected, text);
});

test("text that is no selector is refused in upstream's words", () => {
  const name =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const value =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  const table: [string, string][] = [
    [",x", "found ',', expected: !, identifier, or 'end of string'"],
    ["x,", "found '', expected: identifier after ','"],
    ["x,,y", "found ',', expected: identifier after ','"],
    ["x==a==b", "found '==', expected: ',' or 'end of string'"],
    ["!x=a", "found '=', expected: ',' or 'end of string'"],
    ["x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["x=(", "unable to parse requirement: found '(', expected: identifier"],
    ["x in a", "unable to parse requirement: found 'a' expected: '('"],
    ["x in (a", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["x in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ["x in (,=", "unable to parse requirement: found '=', expected: ',', or identifier"],
    [
      `x=${"a".repeat(64)}`,
      `unable to parse requirement: values[0][x]: Invalid value: "${"a".repeat(64)}": must be no more than 63 bytes`,
    ],
    ["-x=a", `unable to parse requirement: <nil>: Invalid value: "-x": ${name}`],
    ["x=a||b", `unable to parse requirement: values[0][x]: Invalid value: "a||b": ${value}`],
    [
      "x<a",
      "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ];
  for (const [text, message] of table)
    assert.throws(() => parseSelector(text), { name: "SelectorError", message }, text);
});

test("labels are matched", () => {
  const table: [string, Record<string, string> | undefined, boolean][] = [
    ["", { x: "y" }, true],
    ["", undefined, true],
    ["x=y", { x: "y" }, true],
    ["x=y,z=w", { x: "y", z: "w" }, true],
    ["x=y,z=w", { x: "y" }, false],
    ["x!=y", { x: "z" }, true],
    ["x!=y", {}, true],
    ["x!=y", { x: "y" }, false],
    ["x=", { x: "" }, true],
    ["x=", {}, false],
    ["x in (a,b)", { x: "b" }, true],
    ["x in (a,b)", { x: "c" }, false],
    ["x notin (a,b)", { x: "a" }, false],
    ["x notin (a,b)", undefined, true],
    ["x", { x: "" }, true],
    ["x", { y: "" }, false],
    ["!x", { y: "" }, true],
    ["x>10", { x: "11" }, true],
    ["x>10", { x: "9" }, false],
    ["x<10", { x: "text" }, false],
    ["x<9223372036854775807", { x: "9223372036854775806" }, true],
    ["constructor", {}, false],
    ["toString=a", {}, false],
  ];
  for (const [text, labels, expected] of table)
    assert.equal(labelMatcher(parseSelector(text))(labels), expected, `${text} of ${JSON.stringify(labels)}`);
});

test("a struct says the same as text", () => {
  const struct = {
    matchLabels: { b: "1" },
    matchExpressions: [
      { key: "a", operator: "In", values: ["y", "x"] },
      { key: "c", operator: "DoesNotExist" },
      { key: "d", operator: "Exists", values: [] },
      { key: "e", operator: "NotIn", values: ["z"] },
    ],
  };
  assert.equal(formatSelector(struct), "a in (x,y),b=1,!c,d,e notin (z)");
  assert.equal(formatSelector({}), "<none>");
  assert.equal(formatSelector(undefined), "<none>");
  assert.equal(formatSelector({ matchExpressions: [{ key: "a", operator: "Is" }] }), "<error>");
  assert.equal(formatSelector({ matchExpressions: [{ key: "a", operator: "In" }] }), "<error>");
  assert.equal(formatSelector({ matchLabels: { "-": "" } }), "<error>");
  assert.equal(selectorMatcher(undefined)({}), false);
  assert.equal(selectorMatcher({})({}), true);
  assert.throws(() => requirementsOf({ matchExpressions: [{ key: "a", operator: "Is" }] }), {
    message: '"Is" is not a valid label selector operator',
  });
  assert.deepEqual(selectorStructOf(parseSelector("a=1,b in (x),!c")), {
    matchLabels: { a: "1" },
    matchExpressions: [
      { key: "b", operator: "In", values: ["x"] },
      { key: "c", operator: "DoesNotExist", values: [] },
    ],
  });
  assert.throws(() => selectorStructOf(parseSelector("a>1")), { message: `"gt" isn't supported in label selectors` });
  assert.equal(formatRequirements(requirementsOfLabels({ b: "2", a: "1" })), "a=1,b=2");
});

test("an index can answer when one value is left", () => {
  assert.equal(exactValue(parseSelector("app=web,x"), "app"), "web");
  assert.equal(exactValue(parseSelector("app in (web)"), "app"), "web");
  assert.equal(exactValue(parseSelector("app in (web,db)"), "app"), undefined);
  assert.equal(exactValue(parseSelector("app!=web"), "app"), undefined);
  assert.equal(exactValue(parseSelector("x=y"), "app"), undefined);
});

test("problems of a struct name the field", () => {
  const selector = {
    matchLabels: { "a/b/c": "x y" },
    matchExpressions: [
      { key: "a", operator: "In" },
      { key: "a", operator: "Exists", values: ["x"] },
      { key: "", operator: "Is", values: ["-"] },
    ],
  };
  const problems = [...selectorProblems(selector, "spec.selector")].map(problemText);
  assert.deepEqual(
    problems.map((text) => text.replace(/: (a valid|must consist|name part must consist).*/, "…")),
    [
      'spec.selector.matchLabels: Invalid value: "a/b/c"…',
      'spec.selector.matchLabels: Invalid value: "x y"…',
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      'spec.selector.matchExpressions[2].operator: Invalid value: "Is": not a valid selector operator',
      'spec.selector.matchExpressions[2].key: Invalid value: "": name part must be non-empty',
      'spec.selector.matchExpressions[2].key: Invalid value: ""…',
      'spec.selector.matchExpressions[2].values[0]: Invalid value: "-"…',
    ],
  );
});

const word = fc.stringMatching(/^[a-z]([-a-z0-9._]{0,6}[a-z0-9])?$/);
const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({ key: word, operator: fc.constantFrom("=", "==", "!="), values: fc.tuple(word) }),
  fc.record({
    key: word,
    operator: fc.constantFrom("in", "notin"),
    values: fc.uniqueArray(word, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ key: word, operator: fc.constantFrom("exists", "!"), values: fc.constant([]) }),
  fc.record({
    key: word,
    operator: fc.constantFrom("gt", "lt"),
    values: fc.tuple(
      fc
        .integer()
        .map(String)
        .filter((text) => !text.startsWith("-")),
    ),
  }),
) as fc.Arbitrary<Requirement>;

test("any requirements survive being written and read", () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 5 }), fc.dictionary(word, word), (requirements, labels) => {
      const text = formatRequirements(requirements);
      const again = parseSelector(text);
      assert.equal(formatRequirements(parseSelector(formatRequirements(again))), formatRequirements(again));
      assert.equal(labelMatcher(again)(labels), labelMatcher(requirements)(labels));
    }),
    { numRuns: 1000 },
  );
});

test("any text is read or refused with a SelectorError", () => {
  const near = fc.string({ unit: fc.constantFrom(..."ab/.-=!(),<> \tin", "in", "notin", "1"), maxLength: 30 });
  fc.assert(
    fc.property(fc.oneof(near, fc.string({ unit: "binary" })), (text) => {
      try {
        labelMatcher(parseSelector(text))({ a: "b" });
      } catch (error) {
        assert.ok(error instanceof SelectorError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
  assert.throws(() => parseSelector("(".repeat(1_000_000)), SelectorError);
  assert.throws(() => parseSelector(`x in (${"a".repeat(1_000_000)})`), SelectorError);
});
