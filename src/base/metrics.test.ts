import assert from "node:assert/strict";
import { test } from "node:test";
import { formatNumber, MetricRegistry } from "./metrics.ts";

test("families and series are written in order, with what Prometheus wants to know", async () => {
  const registry = new MetricRegistry();
  const requests = registry.counter({
    name: "b_total",
    help: "Requests.",
    labels: ["verb", "code"],
    stability: "STABLE",
  });
  requests.of("POST", "201").add(2);
  requests.of("GET", "200").add();
  registry.gauge({ name: "a", help: "One\nline \\ only." }).of().set(1.5);
  const sizes = registry.histogram({ name: "c", help: "Sizes.", labels: ["of"], buckets: [1, 10] });
  for (const size of [0.5, 1, 2, 20]) sizes.of("x").observe(size);
  registry.counter({ name: "never", help: "No series, no lines." });
  assert.equal(
    await registry.text(),
    `# HELP a One\\nline \\\\ only.
# TYPE a gauge
a 1.5
# HELP b_total [STABLE] Requests.
# TYPE b_total counter
b_total{code="200",verb="GET"} 1
b_total{code="201",verb="POST"} 2
# HELP c Sizes.
# TYPE c histogram
c_bucket{of="x",le="1"} 2
c_bucket{of="x",le="10"} 3
c_bucket{of="x",le="+Inf"} 4
c_sum{of="x"} 23.5
c_count{of="x"} 4
`,
  );
});

test("values of labels are escaped", async () => {
  const registry = new MetricRegistry();
  registry
    .gauge({ name: "a", help: "", labels: ["x"] })
    .of('a"b\\c\nd')
    .set(1);
  assert.match(await registry.text(), /^a\{x="a\\"b\\\\c\\nd"\} 1$/m);
});

test("numbers are written as Go writes them", () => {
  const cases: readonly [number, string][] = [
    [0, "0"],
    [1, "1"],
    [-1.5, "-1.5"],
    [999_999, "999999"],
    [1_000_000, "1e+06"],
    [1_234_567, "1.234567e+06"],
    [0.005, "0.005"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [1e-10, "1e-10"],
    [1e100, "1e+100"],
    [Number.POSITIVE_INFINITY, "+Inf"],
    [Number.NEGATIVE_INFINITY, "-Inf"],
    [Number.NaN, "NaN"],
  ];
  for (const [value, text] of cases) assert.equal(formatNumber(value), text);
});

test("what nobody declared is counted all the same", async () => {
  const registry = new MetricRegistry();
  registry.count("things_total", { of: "a" });
  registry.count("things_total", { of: "a" }, 2);
  registry.set("depth", { name: "q" }, 7);
  registry.observe("time_seconds", {}, 0.02);
  const text = await registry.text();
  assert.match(text, /^things_total\{of="a"\} 3$/m);
  assert.match(text, /^depth\{name="q"\} 7$/m);
  assert.match(text, /^time_seconds_bucket\{le="0.025"\} 1$/m);
});

test("a number that is noted as another type than was declared is refused, and not lost", () => {
  const registry = new MetricRegistry();
  registry.counter({ name: "things_total", help: "" });
  registry.set("depth", {}, 1);
  assert.throws(() => registry.set("things_total", {}, 1), /things_total is a counter, and is used as a gauge/);
  assert.throws(() => registry.observe("depth", {}, 1), /depth is a gauge, and is used as a histogram/);
  assert.throws(() => registry.count("depth", {}), /depth is a gauge, and is used as a counter/);
});

test("names that could not be read back are refused, and so is a name that is taken", () => {
  const registry = new MetricRegistry();
  assert.throws(() => registry.counter({ name: "a-b", help: "" }), /"a-b" is no name of a metric/);
  assert.throws(() => registry.counter({ name: "a", help: "", labels: ["le"] }), /"le" is no name of a label/);
  registry.counter({ name: "a", help: "" });
  assert.throws(() => registry.gauge({ name: "a", help: "" }), /a is declared twice/);
  assert.throws(() => registry.counter({ name: "b", help: "", labels: ["x"] }).of(), /b has the labels \["x"\]/);
});

test("what is read on demand is read before each answer", async () => {
  const registry = new MetricRegistry();
  const gauge = registry.gauge({ name: "a", help: "" });
  let reads = 0;
  registry.reading(async () => gauge.of().set(++reads));
  await registry.text();
  assert.match(await registry.text(), /^a 2$/m);
});
