import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf } from "./errors.ts";
import { parseEndpoint, RpcError, rpcCode } from "./transport.ts";

test("a failed call is judged by what is known of its outcome", () => {
  const cases: [code: keyof typeof rpcCode, message: string, outcome: string][] = [
    ["unavailable", "etcdserver: no leader", "not done"],
    ["resourceExhausted", "etcdserver: too many requests", "not done"],
    ["unavailable", "No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1", "not done"],
    ["unavailable", "Name resolution failed for target dns:nowhere:2379", "not done"],
    ["unavailable", "Connection dropped", "unknown"],
    ["unavailable", "etcdserver: request timed out", "unknown"],
    ["unavailable", "etcdserver: leader changed", "unknown"],
    ["unavailable", "etcdserver: server stopped", "unknown"],
    ["deadlineExceeded", "no answer within 10000 ms", "unknown"],
    ["cancelled", "Call cancelled", "unknown"],
    ["internal", "Received RST_STREAM with code 2", "unknown"],
    ["unknown", "something new", "unknown"],
    ["resourceExhausted", "Bandwidth exhausted or memory limit exceeded", "unknown"],
    ["resourceExhausted", "etcdserver: mvcc: database space exceeded", "answered"],
    ["resourceExhausted", "grpc: received message larger than max (3000046 vs. 2097152)", "answered"],
    ["outOfRange", "etcdserver: mvcc: required revision has been compacted", "answered"],
    ["invalidArgument", "etcdserver: request is too large", "answered"],
    ["permissionDenied", "etcdserver: permission denied", "answered"],
    ["notFound", "etcdserver: requested lease not found", "answered"],
  ];
  for (const [code, message, outcome] of cases)
    assert.equal(outcomeOf(new RpcError(rpcCode[code], message)), outcome, message);
  assert.equal(outcomeOf(new RangeError("-1 is not a revision")), "answered");
});

test("endpoints are addresses with a scheme and nothing more", () => {
  assert.deepEqual(parseEndpoint("http://127.0.0.1:2379"), { host: "127.0.0.1:2379", isSecure: false });
  assert.deepEqual(parseEndpoint("https://etcd-0.etcd:2379/"), { host: "etcd-0.etcd:2379", isSecure: true });
  assert.deepEqual(parseEndpoint("https://[::1]:2379"), { host: "[::1]:2379", isSecure: true });
  for (const wrong of [
    "",
    "127.0.0.1:2379",
    "ftp://a:1",
    "http://",
    "http://a:1/v3",
    "http://u:p@a:1",
    "http://a:1?x=y",
  ])
    assert.throws(() => parseEndpoint(wrong), /etcd endpoint/, wrong);
});
