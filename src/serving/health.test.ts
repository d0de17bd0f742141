import assert from "node:assert/strict";
import { test } from "node:test";
import type { HttpRequest } from "#wire/http.ts";
import { type HealthCheck, health } from "./health.ts";

const checks: readonly HealthCheck[] = [
  { name: "ping", check: async () => undefined },
  { name: "disk", check: async () => Promise.reject(new Error("disk on fire")) },
  { name: "caches", isOfReadiness: true, check: async () => undefined },
];

async function asked(path: string): Promise<readonly [number, unknown] | undefined> {
  const { pathname, searchParams } = new URL(path, "http://server");
  const [, kind = "", ...only] = pathname.split("/");
  const request = { query: searchParams, signal: new AbortController().signal } as HttpRequest;
  const answer = await health(request, kind, only.join("/") || undefined, checks);
  return answer && [answer.code, answer.body];
}

const answers: readonly (readonly [path: string, code: number | undefined, body?: string])[] = [
  ["/livez", 500, "[+]ping ok\n[-]disk failed: reason withheld\nlivez check failed\n"],
  ["/readyz", 500, "[+]ping ok\n[-]disk failed: reason withheld\n[+]caches ok\nreadyz check failed\n"],
  ["/livez?exclude=disk", 200, "ok"],
  ["/livez?exclude=disk&verbose", 200, "[+]ping ok\n[+]disk excluded: ok\nlivez check passed\n"],
  [
    "/livez?verbose&exclude=x&exclude=disk&exclude=caches",
    200,
    '[+]ping ok\n[+]disk excluded: ok\nwarn: some health checks cannot be excluded: no matches for "caches","x"\nlivez check passed\n',
  ],
  ["/healthz/ping", 200, "ok"],
  ["/healthz/disk", 500, "internal server error: disk on fire\n"],
  ["/readyz/caches", 200, "ok"],
  ["/livez/caches", undefined],
  ["/livez/nothing", undefined],
];

for (const [path, code, body] of answers)
  test(`${path} is answered as upstream answers it`, async () => {
    assert.deepEqual(await asked(path), code === undefined ? undefined : [code, body]);
  });
