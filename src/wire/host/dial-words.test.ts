import assert from "node:assert/strict";
import { test } from "node:test";
import { dialWords } from "./dial-words.ts";

const failed = (code: string, message = code, rest: object = {}) =>
  Object.assign(new Error(message), { code, ...rest });
const verify = "tls: failed to verify certificate: x509: ";

const table: readonly (readonly [Error, string])[] = [
  [failed("ECONNREFUSED"), "dial tcp 10.0.0.7:10250: connect: connection refused"],
  [failed("EHOSTUNREACH"), "dial tcp 10.0.0.7:10250: connect: no route to host"],
  [failed("ETIMEDOUT"), "dial tcp 10.0.0.7:10250: i/o timeout"],
  [failed("ENOTFOUND"), "dial tcp: lookup 10.0.0.7: no such host"],
  [failed("ECONNRESET", "socket hang up"), "EOF"],
  [failed("ECONNRESET", "read ECONNRESET"), "read: connection reset by peer"],
  [failed("SELF_SIGNED_CERT_IN_CHAIN"), `${verify}certificate signed by unknown authority`],
  [failed("CERT_HAS_EXPIRED"), `${verify}certificate has expired or is not yet valid`],
  [
    failed("ERR_TLS_CERT_ALTNAME_INVALID", "", { cert: { subjectaltname: "DNS:n1, IP Address:10.0.0.8" } }),
    `${verify}certificate is valid for n1, 10.0.0.8, not 10.0.0.7`,
  ],
  [failed("EOTHER", "something else"), "something else"],
  [new Error("without a code"), "without a code"],
];

for (const [error, words] of table)
  test(`${error.message || "another name"} is told as ${words}`, () =>
    assert.equal(dialWords(error, "10.0.0.7", 10250), words));

test("an IPv6 address stands in brackets", () =>
  assert.equal(dialWords(failed("ECONNREFUSED"), "fd00::7", 80), "dial tcp [fd00::7]:80: connect: connection refused"));
