import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { changed } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { ReceivedRequest } from "./received-request.ts";

test("the signal of a request is made when it is asked for, and what is made of the request has it", () => {
  let made = 0;
  const { signal } = new AbortController();
  const http: HttpRequest = {
    method: "GET",
    path: "/api/v1/namespaces/default/pods/web",
    url: "/api/v1/namespaces/default/pods/web",
    query: new URLSearchParams(),
    headers: {},
    body: async () => new Uint8Array(),
    content: Readable.from([]),
    clientCertificate: undefined,
    remoteAddress: "127.0.0.1",
    get signal() {
      made++;
      return signal;
    },
  };
  const request = new ReceivedRequest(http, {
    user: { name: "tester", groups: [] },
    address: { group: "", version: "v1", resource: "pods", namespace: "default", name: "web" },
    verb: "get",
    body: undefined,
    trace: undefined,
    warn: () => undefined,
  });
  assert.equal(made, 0);
  const other = changed(request, { name: "other" });
  assert.equal(other.signal, signal);
  assert.equal(other.name, "other");
  assert.equal(other.resource, "pods");
});
