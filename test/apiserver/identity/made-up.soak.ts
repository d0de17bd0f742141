// What the suite does with thousands.
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { madeUpFiles, madeUpTokens, mistypedSecrets } from "./made-up.ts";
import { madeUpCallers } from "./made-up-callers.ts";
import { madeUpCertificates, madeUpCsrs, madeUpHeaders } from "./made-up-requests.ts";

const signingKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

// More than a million in all.
test("300,000 files are read or refused", () => madeUpFiles(300_000));
test("300,000 files of secrets are refused without a word of the secrets", () => mistypedSecrets(300_000));
test("300,000 tokens are nobody's", () => madeUpTokens(signingKey(), 300_000));
test("100,000 requests for certificates are refused, or are what their key signed", () => madeUpCsrs(100_000));
test("100,000 certificates are signed by nobody", () => madeUpCertificates(100_000));
test("300,000 headers let nobody in", () => madeUpHeaders(300_000));
test("100,000 callers are refused, and no log tells what they or others keep secret", () =>
  madeUpCallers(signingKey(), 100_000));
