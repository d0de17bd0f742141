import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyType, negotiate, offers } from "./negotiate.ts";

const tables = {
  offers,
  isWatch: false,
  allows: (convert: { kind: string }, type: string) => convert.kind === "Table" && !type.includes("protobuf"),
};
const chosen = (accept: string | undefined, isWatch = false) => {
  const outcome = negotiate(accept, { ...tables, isWatch });
  if (!("accepted" in outcome)) return outcome.acceptable.join(", ");
  const { mediaType, convert } = outcome.accepted;
  return convert ? `${mediaType} as ${convert.kind} ${convert.group}/${convert.version}` : mediaType;
};

const cases: readonly [accept: string | undefined, chosen: string][] = [
  [undefined, "application/json"],
  ["", "application/json"],
  ["*/*", "application/json"],
  ["application/*", "application/json"],
  ["application/yaml", "application/yaml"],
  ["APPLICATION/YAML", "application/yaml"],
  ["application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"],
  ["application/json;q=0.5, application/yaml;q=0.9", "application/yaml"],
  ["application/json;q=0, application/yaml", "application/yaml"],
  ["*/*, application/yaml", "application/yaml"],
  ["text/html, application/xml;q=0.9, */*;q=0.8", "application/json"],
  ["application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/json as Table meta.k8s.io/v1"],
  ["application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io, application/json", "application/json"],
  ["application/json;as=Chair;v=v1;g=meta.k8s.io, application/yaml", "application/yaml"],
  ["application/json;sv=v1", "application/json, application/yaml, application/vnd.kubernetes.protobuf"],
  ["application/yaml;stream=watch", "application/json, application/yaml, application/vnd.kubernetes.protobuf"],
  ["text/plain", "application/json, application/yaml, application/vnd.kubernetes.protobuf"],
  [";;;,,/,a/b/c", "application/json, application/yaml, application/vnd.kubernetes.protobuf"],
];
for (const [accept, expected] of cases)
  test(`Accept: ${accept} is answered with ${expected}`, () => assert.equal(chosen(accept), expected));

const watches: readonly [accept: string | undefined, chosen: string][] = [
  [undefined, "application/json"],
  ["application/json;stream=watch", "application/json"],
  ["application/vnd.kubernetes.protobuf;stream=watch, application/json", "application/vnd.kubernetes.protobuf"],
  ["application/yaml", "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"],
];
for (const [accept, expected] of watches)
  test(`a watch with Accept: ${accept} is answered with ${expected}`, () =>
    assert.equal(chosen(accept, true), expected));

test("the type of a body is JSON unless it says otherwise, and none if it is not known", () => {
  const types = offers.map(({ mediaType }) => mediaType);
  assert.equal(bodyType(undefined, types), "application/json");
  assert.equal(bodyType("application/yaml; charset=utf-8", types), "application/yaml");
  assert.equal(bodyType("text/plain", types), undefined);
});
