import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { madeUpFiles, madeUpTokens, mistypedSecrets } from "./made-up.ts";
import { madeUpCallers } from "./made-up-callers.ts";
import { madeUpCertificates, madeUpCsrs, madeUpHeaders } from "./made-up-requests.ts";

const signingKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

test("files that are made up are read or refused, and never more than that", () => madeUpFiles(3000));
test("tokens that are made up are nobody's", () => madeUpTokens(signingKey(), 2000));
test("requests for certificates that are made up are refused, or are what their key signed", () => madeUpCsrs(1000));
test("certificates that are made up are signed by nobody", () => madeUpCertificates(1000));
test("headers that are made up let nobody in", () => madeUpHeaders(2000));
test("callers whose credentials are made up are refused, and no log tells what they or others keep secret", () =>
  madeUpCallers(signingKey(), 1000));
test("files of secrets that are mistyped are refused without a word of the secrets", () => mistypedSecrets(3000));
