import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "#client/client.ts";
import { metadataKind, wholeKind } from "#client/metadata-kind.ts";
import { decodeValue } from "#schema/decode.ts";
import type { ApiObject } from "#schema/object.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { explain } from "./why.ts";

test("of a kind that is only known from discovery the whole object is read, and its conditions are told", async () => {
  const Widget = metadataKind({
    group: "example.com",
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    singular: "widget",
    scope: "Namespaced",
    verbs: ["get"],
    shortNames: [],
    categories: [],
    subresources: {},
  });
  const widget = {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "a", namespace: "default", uid: "1" },
    status: { conditions: [{ type: "Ready", status: "False", reason: "NoPaint", message: "the paint is out" }] },
  } as object as ApiObject;
  const expected: unknown[] = [];
  const transport = async (request: ApiRequest): Promise<ApiResponse> => {
    if (request.verb === "list")
      return { type: "list", page: { kind: Widget, resourceVersion: "1", items: [] } } as ApiResponse;
    expected.push(request.expects?.metadataOnly);
    const stored = { object: widget, json: new Uint8Array() };
    return { type: "object", code: 200, kind: Widget, stored, warnings: [] };
  };
  const { signal } = new AbortController();
  const client = new Client({ transport, user: { name: "me", groups: [] }, userAgent: "test/1", signal });

  const { reason } = await explain(
    Widget,
    { namespace: "default", name: "a" },
    { client, writesOf: async () => [], verdictsOn: async () => [], lastLines: async () => [], now: () => 0 },
  );

  assert.deepEqual(expected, [undefined]);
  assert.deepEqual(decodeValue(wholeKind(Widget), structuredClone(widget)).object.status, widget.status);
  assert.match(JSON.stringify(reason), /the paint is out/);
});
