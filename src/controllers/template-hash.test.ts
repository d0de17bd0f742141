import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { goDump } from "./go-dump.ts";
import { templateHash } from "./template-hash.ts";

interface Vector {
  readonly template: PodTemplateSpec;
  readonly collisionCount?: number;
  readonly hash: string;
}

/** Templates filled by chance, with the hashes that upstream's ComputeHash gives them after a round trip through protobuf. */
const vectors = readFileSync(`${import.meta.dirname}/testing/template-hashes.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Vector);

test("the hash of a pod template is upstream's, whatever is in the template", () => {
  const wrong = vectors.flatMap(({ template, collisionCount, hash }, i) => {
    const ours = templateHash(template, collisionCount);
    return ours === hash ? [] : [`template ${i}: ${ours} instead of ${hash}`];
  });
  assert.deepEqual(wrong, []);
  assert.ok(vectors.length >= 40);
});

test("what says nothing changes no hash: empty lists and maps, zeros and nulls", () => {
  const [first] = vectors;
  assert.ok(first);
  const { template, hash } = first;
  const same = {
    metadata: { ...template.metadata, annotations: {}, name: "" },
    spec: { ...template.spec, volumes: [], nodeSelector: {}, hostNetwork: false, affinity: undefined },
  };
  assert.equal(templateHash(same), hash);
  assert.notEqual(templateHash({ ...same, spec: { ...same.spec, affinity: {} } }), hash);
});

test("amounts are dumped as Go keeps them after parsing", () => {
  const dumped = (amount: string) => {
    const template = { spec: { overhead: { cpu: amount } } };
    return /Overhead:\(v1.ResourceList\)map\[cpu:(.*?)\] TopologySpread/.exec(goDump(PodTemplateSpec, template))?.[1];
  };
  const none = "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>}";
  const table: readonly [string, string][] = [
    [
      "100m",
      `{i:(resource.int64Amount){value:(int64)100 scale:(resource.Scale)-3} ${none} s:(string)100m Format:(resource.Format)DecimalSI}`,
    ],
    [
      "8Gi",
      `{i:(resource.int64Amount){value:(int64)8589934592 scale:(resource.Scale)0} ${none} s:(string) Format:(resource.Format)BinarySI}`,
    ],
    [
      "1Pi",
      "{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int)" +
        "{neg:(bool)false abs:(big.nat)[2882303761517117440 61035]} scale:(inf.Scale)9}} s:(string) Format:(resource.Format)BinarySI}",
    ],
  ];
  for (const [amount, expected] of table) assert.equal(dumped(amount), expected);
});
