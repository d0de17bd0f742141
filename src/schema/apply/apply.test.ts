import assert from "node:assert/strict";
import { test } from "node:test";
import { deepFreeze } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import { applyObject, trackUpdate } from "./apply.ts";
import { excluding, including } from "./filter.ts";
import { Story, Thing } from "./testing.ts";

const specOf = (story: Story): any => story.object?.spec;
const refusal = (act: () => unknown): ApiError => {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("was not refused");
};

test("two managers share an object, each with its own fields", () => {
  const story = new Story(Thing);
  story.apply("ann", { spec: { size: 1, labels: { a: "1" } } });
  story.apply("bob", { spec: { title: "t", labels: { b: "2" } } });
  assert.deepEqual(specOf(story), { size: 1, labels: { a: "1", b: "2" }, title: "t" });
  assert.deepEqual(story.owners, [
    "ann Apply 00:00: .spec.size .spec.labels.a",
    "bob Apply 00:01: .spec.title .spec.labels.b",
  ]);
});

test("a value that another manager owns is a conflict, and the message names all of them", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1, items: [{ name: "x", value: "v" }] } });
  story.update("bob", (o) => Object.assign(o.spec, { title: "t" }) && o);
  const one = refusal(() => story.apply("cat", { spec: { size: 2 } }));
  assert.equal(one.code, 409);
  assert.equal(one.reason, "Conflict");
  assert.equal(one.message, 'Apply failed with 1 conflict: conflict with "ann": .spec.size');
  const many = refusal(() => story.apply("cat", { spec: { size: 2, title: "u", items: [{ name: "x", value: "w" }] } }));
  assert.equal(
    many.message,
    [
      'Apply failed with 3 conflicts: conflicts with "ann":',
      "- .spec.size",
      '- .spec.items[name="x"].value',
      'conflicts with "bob" using test/v1:',
      "- .spec.title",
    ].join("\n"),
  );
  assert.deepEqual(many.details?.causes, [
    { reason: "FieldManagerConflict", message: 'conflict with "ann"', field: ".spec.size" },
    { reason: "FieldManagerConflict", message: 'conflict with "ann"', field: '.spec.items[name="x"].value' },
    { reason: "FieldManagerConflict", message: 'conflict with "bob" using test/v1', field: ".spec.title" },
  ]);
});

test("forcing takes the fields that conflict, and only those", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1, title: "t" } });
  story.apply("bob", { spec: { size: 2 } }, { force: true });
  assert.deepEqual(specOf(story), { size: 2, title: "t" });
  assert.deepEqual(story.owners, ["ann Apply 00:00: .spec.title", "bob Apply 00:01: .spec.size"]);
});

test("the same value may be applied by several, and goes when the last one lets go", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1 } }).apply("bob", { spec: { size: 1, title: "t" } });
  assert.deepEqual(story.owners, ["ann Apply 00:00: .spec.size", "bob Apply 00:01: .spec.size .spec.title"]);
  story.apply("ann", { spec: {} });
  assert.deepEqual(specOf(story), { size: 1, title: "t" });
  story.apply("bob", { spec: { title: "t" } });
  assert.deepEqual(specOf(story), { title: "t" });
});

test("what changes nothing gives a new manager its fields, and no time, as upstream has it", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1 } }).apply("bob", { spec: { size: 1 } });
  assert.deepEqual(story.owners, ["bob Apply: .spec.size", "ann Apply 00:00: .spec.size"]);
});

test("a field that an update changed is no longer the applier's, and is not removed with the rest", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1, title: "t" } });
  story.update("bob", (o) => Object.assign(o.spec, { size: 5 }) && o);
  assert.deepEqual(story.owners, ["ann Apply 00:00: .spec.title", "bob Update 00:01: .spec.size"]);
  story.apply("ann", { spec: {} });
  assert.deepEqual(specOf(story), { size: 5 });
});

test("list items, set members and map entries are removed one by one", () => {
  const story = new Story(Thing).apply("ann", {
    spec: {
      items: [{ name: "x", value: "1" }, { name: "y" }],
      set: ["a", "b"],
      labels: { k: "1", l: "2" },
      ports: [{ port: 80 }, { port: 80, protocol: "UDP" }],
    },
  });
  story.apply("bob", { spec: { items: [{ name: "y", value: "bob" }], set: ["b", "c"] } });
  story.apply("ann", {
    spec: { items: [{ name: "x", value: "1" }], set: ["a"], labels: { l: "2" }, ports: [{ port: 80 }] },
  });
  assert.deepEqual(specOf(story), {
    items: [
      { name: "x", value: "1" },
      { name: "y", value: "bob" },
    ],
    set: ["a", "b", "c"],
    labels: { l: "2" },
    ports: [{ port: 80, protocol: "TCP" }],
  });
  assert.deepEqual(story.owners, [
    'bob Apply 00:01: .spec.items[name="y"] .spec.items[name="y"].name .spec.items[name="y"].value .spec.set[="b"] .spec.set[="c"]',
    'ann Apply 00:02: .spec.items[name="x"] .spec.items[name="x"].name .spec.items[name="x"].value .spec.labels.l ' +
      '.spec.ports[port=80,protocol="TCP"] .spec.ports[port=80,protocol="TCP"].port .spec.set[="a"]',
  ]);
});

test("an item stays as long as someone applies it, with no more than that", () => {
  const item = (more: object) => ({ spec: { items: [{ name: "x", ...more }] } });
  const story = new Story(Thing).apply("ann", item({ value: "1", size: 3 })).apply("bob", item({ tags: ["t"] }));
  story.apply("ann", { spec: {} });
  assert.deepEqual(specOf(story), { items: [{ name: "x", tags: ["t"] }] });
  story.update("cat", (o) => Object.assign(o.spec.items[0], { size: 4 }) && o);
  story.apply("bob", { spec: {} });
  assert.deepEqual(specOf(story), {});
  assert.deepEqual(story.owners, ["ann Apply 00:02: .spec", "bob Apply 00:04: .spec"]);
});

test("a struct that the applier made goes with its last field", () => {
  const story = new Story(Thing).apply("ann", { spec: { part: { a: "1", inner: { b: "2" } }, title: "t" } });
  story.apply("ann", { spec: { title: "t" } });
  assert.deepEqual(specOf(story), { title: "t" });
});

test("atomic lists, maps and structs are owned and replaced as a whole", () => {
  const story = new Story(Thing).apply("ann", {
    spec: { words: ["a", "b"], fixed: { k: "1" }, whole: { a: "1" }, any: [1, { x: 2 }] },
  });
  assert.deepEqual(story.owners, ["ann Apply 00:00: .spec.any .spec.fixed .spec.whole .spec.words"]);
  assert.equal(
    refusal(() => story.apply("bob", { spec: { whole: { b: "2" } } })).message,
    'Apply failed with 1 conflict: conflict with "ann": .spec.whole',
  );
  story.apply("ann", { spec: { words: ["c"], fixed: { l: "2" }, whole: { b: "2" } } });
  assert.deepEqual(specOf(story), { words: ["c"], fixed: { l: "2" }, whole: { b: "2" } });
});

test("JSON of unknown kind is owned entry by entry, its lists as a whole", () => {
  const story = new Story(Thing).apply("ann", { spec: { raw: { kind: "K", deep: { a: 1, l: [1] } } } });
  story.apply("bob", { spec: { raw: { deep: { b: 2 } } } });
  assert.deepEqual(specOf(story), { raw: { kind: "K", deep: { a: 1, l: [1], b: 2 } } });
  assert.deepEqual(story.owners, [
    "ann Apply 00:00: .spec.raw.deep .spec.raw.kind .spec.raw.deep.a .spec.raw.deep.l",
    "bob Apply 00:01: .spec.raw.deep .spec.raw.deep.b",
  ]);
});

test("amounts and targets are compared as they are written", () => {
  const story = new Story(Thing).apply("ann", { spec: { amount: "1", target: 80 } });
  assert.equal(
    refusal(() => story.apply("bob", { spec: { amount: "1000m", target: "80" } })).message,
    'Apply failed with 2 conflicts: conflicts with "ann":\n- .spec.amount\n- .spec.target',
  );
  story.apply("bob", { spec: { amount: 1, target: 80 } }, { force: true });
  assert.deepEqual(story.owners, ["ann Apply 00:00: .spec.target", "bob Apply 00:01: .spec.amount .spec.target"]);
});

test("items keep their order: those of the configuration in its order, the others where they were", () => {
  const names = (story: Story) =>
    specOf(story)
      .items.map(({ name }: { name: string }) => name)
      .join("");
  const named = (text: string) => ({ spec: { items: [...text].map((name) => ({ name })) } });
  const cases: [live: string, applied: string, merged: string][] = [
    ["abc", "abc", "abc"],
    ["abc", "cba", "cba"],
    ["abcd", "db", "acdb"],
    ["abc", "xaby", "xabcy"],
    ["abc", "x", "abcx"],
    ["ab", "", "ab"],
    ["", "ba", "ba"],
    ["abcde", "ecz", "abdecz"],
  ];
  for (const [live, applied, merged] of cases) {
    const story = new Story(Thing, named(live)).apply("ann", named(applied), { force: true });
    assert.equal(names(story), merged, `${live} + ${applied}`);
  }
});

test("an object that nobody manages gets an owner for what it has when it is first applied to", () => {
  const story = new Story(Thing, { spec: { size: 1, title: "t" } });
  assert.equal(
    refusal(() => story.apply("ann", { spec: { size: 2 } })).message,
    'Apply failed with 1 conflict: conflict with "before-first-apply" using test/v1: .spec.size',
  );
  story.apply("ann", { spec: { size: 1 } });
  assert.deepEqual(story.owners, ["ann Apply: .spec.size", "before-first-apply Update 00:00: .spec.size .spec.title"]);
});

test("updates of what nobody manages stay untracked, creations are tracked", () => {
  const untracked = new Story(Thing, { spec: { size: 1 } }).update(
    "bob",
    (o) => Object.assign(o.spec, { size: 2 }) && o,
  );
  assert.deepEqual(untracked.owners, []);
  const created = new Story(Thing).update("bob", () => ({ spec: { size: 1 }, metadata: { labels: { a: "1" } } }));
  assert.deepEqual(created.owners, ["bob Update 00:00: .metadata.labels .metadata.labels.a .spec.size"]);
});

test("an update's time changes only when it changed something", () => {
  const story = new Story(Thing).update("bob", () => ({ spec: { size: 1, title: "t" } }));
  story.update("bob", (o) => o);
  assert.deepEqual(story.owners, ["bob Update 00:00: .spec.size .spec.title"]);
  story.update("bob", (o) => ({ ...o, spec: { size: 1 } }));
  assert.deepEqual(story.owners, ["bob Update 00:00: .spec.size"]);
  story.update("bob", (o) => ({ ...o, spec: { size: 2 } }));
  assert.deepEqual(story.owners, ["bob Update 00:03: .spec.size"]);
});

test("the same manager is another owner when it applies, updates, or writes through a subresource", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1 } });
  story.update("ann", (o) => Object.assign(o.spec, { title: "t" }) && o);
  story.update("ann", (o) => ({ ...o, status: { phase: "p", size: 0 } }), { subresource: "status" });
  assert.deepEqual(story.owners, [
    "ann Apply 00:00: .spec.size",
    "ann Update 00:01: .spec.title",
    "ann Update /status 00:02: .status.phase",
  ]);
  assert.equal(
    refusal(() => story.apply("bob", { status: { phase: "q" } })).message,
    'Apply failed with 1 conflict: conflict with "ann" with subresource "status" using test/v1: .status.phase',
  );
});

test("fields that a request cannot set are not owned by it", () => {
  const story = new Story(Thing).apply(
    "ann",
    { spec: { size: 1 }, status: { phase: "p" } },
    { resetFields: excluding("status") },
  );
  assert.deepEqual(story.owners, ["ann Apply 00:00: .spec.size"]);
  const both = (o: any) => ({ ...o, spec: { ...o.spec, size: 2 }, status: { phase: "q", size: 0 } });
  story.update("bob", both, { subresource: "status", resetFields: excluding("spec") });
  assert.deepEqual(story.owners, ["ann Apply 00:00: .spec.size", "bob Update /status 00:01: .status.phase"]);
});

test("a filter may also name what alone can be owned, with any item in between", () => {
  const story = new Story(Thing).apply(
    "ann",
    {
      spec: {
        items: [
          { name: "x", value: "1", size: 1 },
          { name: "y", size: 2 },
        ],
      },
    },
    {
      resetFields: including("spec.items.*.size"),
    },
  );
  assert.deepEqual(story.owners, [
    'ann Apply 00:00: .spec.items[name="x"] .spec.items[name="y"] .spec.items[name="x"].size .spec.items[name="y"].size',
  ]);
});

test("more than ten updaters become ancient changes, oldest first, appliers never", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1 } });
  for (let i = 0; i < 12; i++)
    story.update(`u${i}`, (o) => ({ ...o, spec: { ...o.spec, labels: { ...o.spec.labels, [`k${i}`]: "1" } } }));
  const managers = story.managedFields.map(({ manager }) => manager);
  assert.deepEqual(managers, ["ann", "ancient-changes", "u3", "u4", "u5", "u6", "u7", "u8", "u9", "u10", "u11"]);
  assert.equal(
    story.owners[1],
    "ancient-changes Update 00:03: .spec.labels .spec.labels.k0 .spec.labels.k1 .spec.labels.k2",
  );
});

test("an empty list of entries clears them, nonsense is ignored, and what is sent in order is taken", () => {
  const send = (managedFields: unknown, step = {}) =>
    new Story(Thing)
      .apply("ann", { spec: { size: 1 } })
      .update("bob", (o) => ({ ...o, spec: { size: 1, title: "t" }, metadata: { ...o.metadata, managedFields } }), step)
      .owners;
  const kept = ["ann Apply 00:00: .spec.size", "bob Update 00:01: .spec.title"];
  assert.deepEqual(send([]), []);
  assert.deepEqual(send([{}]), []);
  assert.deepEqual(send(undefined), kept);
  assert.deepEqual(send([{}, {}]), kept);
  assert.deepEqual(send([{ manager: "x", operation: "Other", apiVersion: "test/v1", fieldsType: "FieldsV1" }]), kept);
  assert.deepEqual(send([{ manager: "x", operation: "Apply", apiVersion: "test/v1", fieldsType: "FieldsV2" }]), kept);
  assert.deepEqual(send("nonsense"), kept);
  const sent = {
    manager: "x",
    operation: "Apply",
    apiVersion: "test/v1",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:spec": { "f:size": {} } },
  };
  assert.deepEqual(send([sent]), ["x Apply: .spec.size", "bob Update 00:01: .spec.title"]);
  assert.deepEqual(send([], { subresource: "status" }), [
    "ann Apply 00:00: .spec.size",
    "bob Update /status 00:01: .spec.title",
  ]);
});

test("kubectl may take over what client-side apply left in the annotation", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const config = (spec: object) => ({ apiVersion: "test/v1", kind: "Thing", metadata: { name: "it" }, spec });
  const start = (size: number) =>
    new Story(Thing).update("kubectl-client-side-apply", () => ({
      metadata: { annotations: { [annotation]: JSON.stringify(config({ size, title: "t" })) } },
      spec: { size: 1, title: "t" },
    }));
  const story = start(1).apply("kubectl", { spec: { size: 2, title: "u" } });
  assert.deepEqual(specOf(story), { size: 2, title: "u" });
  const metadata: any = story.object?.metadata;
  assert.equal(metadata.annotations[annotation], `${JSON.stringify(config({ size: 2, title: "u" }))}\n`);
  assert.equal(
    refusal(() => start(7).apply("kubectl", { spec: { size: 2, title: "u" } })).message,
    'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using test/v1: .spec.size',
  );
  assert.equal(
    refusal(() => start(1).apply("other", { spec: { size: 2 } })).message,
    'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using test/v1: .spec.size',
  );
});

test("a configuration that is none is refused in upstream's words", () => {
  const live = new Story(Thing, {}).object;
  const apply = (applied: object) =>
    refusal(() => applyObject({ kind: Thing, live, applied: applied as any, manager: "ann", now: 0 }));
  const spec = (spec: object) =>
    apply({ apiVersion: "test/v1", kind: "Thing", metadata: { name: "n", namespace: "ns" }, spec });
  const head = "failed to create typed patch object (ns/n; test/v1, Kind=Thing): ";
  const messages: [object, string][] = [
    [{ nope: 1 }, ".spec.nope: field not declared in schema"],
    [{ size: "1" }, ".spec.size: expected numeric (int or float), got string"],
    [{ title: 1 }, ".spec.title: expected string, got &value.valueUnstructured{Value:1}"],
    [{ on: "x" }, ".spec.on: expected boolean, got &{x}"],
    [{ amount: { a: [1] } }, ".spec.amount: expected any scalar, got &{map[a:[1]]}"],
    [{ items: { a: 1 } }, ".spec.items: expected list, got &{map[a:1]}"],
    [{ part: [1] }, ".spec.part: expected map, got &{[1]}"],
    [{ items: [null] }, ".spec.items: element 0: associative list with keys may not have a null element"],
    [{ items: [{ name: "x" }, { name: "x" }] }, '.spec.items: duplicate entries for key [name="x"]'],
    [{ items: [{ name: "x", nope: 1 }] }, '.spec.items[name="x"].nope: field not declared in schema'],
    [{ set: ["a", "a"] }, '.spec.set: duplicate entries for key [="a"]'],
    [{ set: [{}] }, ".spec.set: element 0: associative list without keys has an element that's a map type"],
    [{ words: ["a", 1] }, ".spec.words[1]: expected string, got &value.valueUnstructured{Value:1}"],
    [
      { size: "1", title: 1 },
      "errors:\n  .spec.size: expected numeric (int or float), got string\n  .spec.title: expected string, got &value.valueUnstructured{Value:1}",
    ],
  ];
  for (const [given, message] of messages) {
    const error = spec(given);
    assert.equal(error.message, head + message);
    assert.equal(error.code, 500);
  }
  assert.equal(apply({ apiVersion: "v1", kind: "Thing" }).message, "invalid object type: /v1, Kind=Thing");
  assert.equal(
    apply({ apiVersion: "test/v1", kind: "Thing", metadata: { name: "n", managedFields: [] } }).message,
    "metadata.managedFields must be nil",
  );
});

test("an object whose managedFields cannot be read cannot be applied to", () => {
  const story = new Story(Thing, { metadata: { managedFields: [{ operation: "Apply", apiVersion: "test/v1" }] } });
  const error = refusal(() => story.apply("ann", { spec: { size: 1 } }));
  assert.equal(error.message, "failed to decode managed fields: missing fieldsType in managed fields entry 0");
});

test("an object whose list items cannot be told apart cannot be applied to", () => {
  const story = new Story(Thing, { spec: { set: [["a"]] } });
  const error = refusal(() => story.apply("ann", { spec: { set: ["b"] } }));
  assert.equal(error.code, 500);
  assert.equal(
    error.message,
    "failed to create typed live object (/it; test/v1, Kind=Thing): not supported: associative list with lists as elements",
  );
});

test("an object whose list items cannot be told apart is stored without managedFields", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1 } });
  story.update("bob", (o) => ({ ...o, spec: { size: 1, set: [["a"]] } }));
  assert.deepEqual(story.owners, []);
});

test("items that share their keys are owned together", () => {
  const story = new Story(Thing).update("bob", () => ({ spec: { items: [{ name: "x", value: "1" }, { name: "x" }] } }));
  assert.deepEqual(story.owners, ['bob Update 00:00: .spec.items .spec.items[name="x"]']);
  story.update("cat", (o) => ({
    ...o,
    spec: {
      items: [
        { name: "x", value: "1" },
        { name: "x", value: "2" },
      ],
    },
  }));
  assert.deepEqual(story.owners, ["bob Update 00:00: .spec.items", 'cat Update 00:01: .spec.items[name="x"]']);
  story.update("dan", (o) => ({ ...o, spec: { items: [{ name: "x", value: "1" }] } }));
  assert.deepEqual(story.owners, [
    "bob Update 00:00: .spec.items",
    'dan Update 00:02: .spec.items[name="x"] .spec.items[name="x"].name .spec.items[name="x"].value',
  ]);
});

test("neither write changes what it is given", () => {
  const story = new Story(Thing).apply("ann", { spec: { size: 1, items: [{ name: "x" }], labels: { a: "1" } } });
  const live = deepFreeze(structuredClone(story.object)) as any;
  const updated = deepFreeze({ ...structuredClone(live), spec: { size: 2, items: [] } });
  const applied = deepFreeze({ apiVersion: "test/v1", kind: "Thing", metadata: { name: "it" }, spec: { title: "t" } });
  trackUpdate({ kind: Thing, live, updated, manager: "bob", now: 0 });
  const { object } = applyObject({ kind: Thing, live, applied, manager: "ann", now: 0 });
  assert.equal(Object.isFrozen((object.metadata as any).labels ?? {}), false);
  assert.deepEqual(object.spec, { title: "t" });
});

test("a manager without a name is unknown", () => {
  assert.deepEqual(new Story(Thing).apply("", { spec: { size: 1 } }).owners, ["unknown Apply 00:00: .spec.size"]);
});
