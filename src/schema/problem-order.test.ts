import assert from "node:assert/strict";
import { test } from "node:test";
import { int32, list, ref, string } from "./field.ts";
import { forbidden, notFound, problemText } from "./problem.ts";
import { struct } from "./struct.ts";
import { validateObject } from "./validate.ts";

const Mount = struct(
  "t/v1.Mount",
  { path: string(1).required().nonEmpty(), name: string(2).required().nonEmpty() },
  { problemOrder: "name path" },
);
const Part = struct(
  "t/v1.Part",
  { image: string(1).required().nonEmpty(), mounts: list(2, Mount), size: int32(3).min(1) },
  { problemOrder: "size image mounts" },
);
const Whole = struct(
  "t/v1.Whole",
  { parts: list(1, Part), other: ref(2, Part), count: int32(3).min(1), names: list(4, "string") },
  {
    problemOrder: "count other",
    *check({ parts = [], names = [] }) {
      yield { ...forbidden("count", "for some reason"), isLast: true };
      for (const [i, { mounts = [] }] of parts.entries())
        for (const [k, { name }] of mounts.entries())
          if (!names.includes(name)) yield notFound(`parts[${i}].mounts[${k}].name`, name);
    },
    *consequences(_whole, problems) {
      if (problems.some(({ field }) => field.startsWith("other"))) yield forbidden("parts[0]", "while other is wrong");
    },
  },
);

test("problems are told in the order a struct gives, item by item, those of its check and their consequences among them", () => {
  const whole = {
    parts: [
      { image: "a", mounts: [{ path: "", name: "x" }], size: 1 },
      { image: "", size: 0 },
    ],
    count: 0,
    other: { image: "" },
  };
  assert.deepEqual(validateObject(Whole, whole).map(problemText), [
    "count: Invalid value: 0: must be greater than or equal to 1",
    "other.image: Required value",
    'parts[0].mounts[0].name: Not found: "x"',
    "parts[0].mounts[0].path: Required value",
    "parts[0]: Forbidden: while other is wrong",
    "parts[1].size: Invalid value: 0: must be greater than or equal to 1",
    "parts[1].image: Required value",
    "count: Forbidden: for some reason",
  ]);
});

test("an order may name parts of fields, types of problems, the struct itself and all that it does not name", () => {
  const Item = struct("t/v1.Item", { name: string(1).required().nonEmpty(), port: int32(2).min(1) });
  const Template = struct("t/v1.Template", {
    labels: ref(1, struct("t/v1.Labels", { a: string(1) })),
    size: int32(2).min(1),
  });
  const Spec = struct(
    "t/v1.Spec",
    {
      name: string(1),
      items: list(2, Item),
      template: ref(3, Template),
      last: int32(4).min(1),
      count: int32(5).min(1),
    },
    {
      problemOrder: ". template.labels template * name:Duplicate items.port:Forbidden last",
      *check() {
        yield forbidden("items[1].port");
        yield { type: "Duplicate", field: "name", detail: "" };
        yield forbidden("name");
        yield forbidden("template.labels.a");
        yield forbidden("");
      },
    },
  );
  const spec = { name: "x", items: [{ name: "", port: 1 }], template: { size: 0 }, last: 0, count: 0 };
  assert.deepEqual(
    validateObject(Spec, spec).map(({ type, field }) => `${field}: ${type}`),
    [
      ": Forbidden",
      "template.labels.a: Forbidden",
      "template.size: Invalid",
      "items[0].name: Required",
      "count: Invalid",
      "name: Forbidden",
      "name: Duplicate",
      "items[1].port: Forbidden",
      "last: Invalid",
    ],
  );
});

test("a field that cannot change may be told last", () => {
  const Spec = struct(
    "t/v1.Fixed",
    { selector: string(1).immutable("last"), count: int32(2).min(1) },
    { problemOrder: "selector count" },
  );
  assert.deepEqual(
    validateObject(Spec, { selector: "a", count: 0 }, { selector: "b", count: 0 }).map(({ field }) => field),
    ["count", "selector"],
  );
});

test("nothing is no value of a pointer with a closed set, nor an item of a list, but it is one of a plain field", () => {
  const Modes = struct("t/v1.Modes", {
    plain: string(1).oneOf("A", "B"),
    pointer: string(2).oneOf("A", "B").pointer(),
    withNothing: string(3).oneOf("", "A").pointer(),
    items: list(4, "string").oneOf("A", "B"),
  });
  const told = validateObject(Modes, { plain: "", pointer: "", withNothing: "", items: ["A", ""] }).map(problemText);
  assert.deepEqual(told, [
    'pointer: Unsupported value: "": supported values: "A", "B"',
    'items[1]: Unsupported value: "": supported values: "A", "B"',
  ]);
  assert.deepEqual(validateObject(Modes, { withNothing: "B" }).map(problemText), [
    'withNothing: Unsupported value: "B": supported values: "", "A"',
  ]);
});
