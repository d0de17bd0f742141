import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { PartialObjectMetadataList } from "#api/meta/partial-object-metadata.ts";
import { Table } from "#api/meta/table.ts";
import { ManualClock } from "#base/clock.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { listStruct } from "#schema/protobuf/list.ts";
import { partialObjectMetadataList, tableOfList } from "#schema/table.ts";
import type { ListPage } from "#wire/api-request.ts";
import { named } from "#wire/codec.ts";
import { type HttpRequest, isParts, isStream } from "#wire/http.ts";
import { encodeObject } from "#wire/json.ts";
import { type ResponseForm, wantedBy } from "./form.ts";
import { respondList } from "./respond.ts";

const clock = new ManualClock("2026-01-01T00:00:00Z");
const revision = "7";

const meta = (name: string) => ({
  name,
  namespace: "a",
  creationTimestamp: "2025-12-31T23:00:00Z",
  labels: { app: "<b>&</b>", n: "10" },
});
const texts = ["", "a\n", "a\n\n", " a\nb", "no", "x: y #z", "ü\u2028😀", "word ".repeat(40), "1e3", "- a", "'"];

const pod = (i: number): ApiObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: meta(`pod-${i}`),
  spec: { containers: [{ name: "c", image: "i", command: ["sh", "-c", texts[i % texts.length]], resources: {} }] },
  status: { phase: i % 3 === 0 ? "Succeeded" : "Running" },
});
const configMap = (i: number): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: meta(`map-${i}`),
  ...(i % 4 > 0 && { data: { first: texts[i % texts.length], ...(i % 2 > 0 && { last: "z\n" }) } }),
});
const made: readonly (readonly [kind: AnyKind, object: (i: number) => ApiObject])[] = [
  [Pod, pod],
  [ConfigMap, configMap],
];

const objects = (count: number, one: (i: number) => ApiObject) => Array.from({ length: count }, (_, i) => one(i));

const pageOf = (kind: AnyKind, items: readonly ApiObject[]): ListPage => ({
  kind,
  items: items.map((object) => ({ object, json: encodeObject(named(kind), object) })),
  resourceVersion: revision,
  continue: "next",
  remainingItemCount: 3,
});

const metadataList = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const table = "as=Table;g=meta.k8s.io;v=v1";
const forms: readonly (readonly [accept: string, query: string])[] = [
  ["application/json", "pretty=1"],
  ["application/yaml", ""],
  ["application/vnd.kubernetes.protobuf", ""],
  ...["application/json", "application/yaml"].flatMap((type) =>
    ["", "includeObject=Object", "includeObject=None", "pretty=1"].map((query) => [`${type};${table}`, query] as const),
  ),
  [`application/json;${table}beta1`, ""],
  [`application/json;${metadataList}`, ""],
  [`application/json;${metadataList}`, "pretty=1"],
  [`application/json;${metadataList}beta1`, ""],
  [`application/yaml;${metadataList}`, ""],
  [`application/vnd.kubernetes.protobuf;${metadataList}`, ""],
];

const wantedIn = (accept: string, query: string): ResponseForm =>
  wantedBy({ headers: { accept }, query: new URLSearchParams(query) } as unknown as HttpRequest, "list");

/** The whole list in one call of the codec. */
function atOnce(kind: AnyKind, items: readonly ApiObject[], wanted: ResponseForm): Uint8Array {
  const { codec, as, metaVersion: apiVersion, includeObject, pretty: isPretty } = wanted;
  const list = { metadata: { resourceVersion: revision, continue: "next", remainingItemCount: 3 }, items };
  if (as === "table") {
    const whole = tableOfList(kind, list, { apiVersion, includeObject, now: clock.now() });
    return codec.encode({ apiVersion, kind: "Table", struct: Table }, whole, { isPretty });
  }
  if (as === "metadata") {
    const subject = { apiVersion, kind: "PartialObjectMetadataList", struct: PartialObjectMetadataList };
    return codec.encode(subject, partialObjectMetadataList(list, apiVersion), { isPretty });
  }
  const subject = { apiVersion: kind.apiVersion, kind: `${kind.kind}List`, struct: listStruct(kind) };
  const unnamed = items.map(({ apiVersion: _apiVersion, kind: _kind, ...rest }) => rest);
  return codec.encode(subject, { ...list, items: unnamed }, { isPretty });
}

async function answered(page: ListPage, wanted: ResponseForm): Promise<Buffer> {
  const { body } = await respondList({ type: "list", page }, wanted, clock);
  if (isStream(body)) throw new Error("a stream was not expected");
  const bytes = isParts(body) ? Buffer.concat([...body]) : Buffer.from(body);
  if (isParts(body)) assert.equal(body.size, bytes.length);
  return bytes;
}

for (const [accept, query] of forms)
  test(`a list as ${accept} ${query} has the bytes of one that is encoded at once`, async () => {
    const wanted = wantedIn(accept, query);
    for (const [kind, one] of made)
      for (const count of [0, 1, 2, 30, 400]) {
        const items = objects(count, one);
        const expected = Buffer.from(atOnce(kind, items, wanted));
        assert.ok(expected.equals(await answered(pageOf(kind, items), wanted)), `${count} of ${kind.kind}`);
      }
  });

for (const [accept, query] of forms)
  test(`while a list is encoded as ${accept} ${query}, other work gets its turn`, async (t) => {
    const count = 2000;
    const page = pageOf(ConfigMap, objects(count, configMap));
    // Each look at the clock finds it a millisecond later, however fast the machine is.
    let reading = 0;
    t.mock.method(performance, "now", () => reading++);
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      for (; !isDone; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    await answered(page, wantedIn(accept, query));
    isDone = true;
    await others;
    assert.ok(turns >= count / 10, `${turns} turns`);
  });
