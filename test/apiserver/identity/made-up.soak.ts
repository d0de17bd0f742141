// As many as a night is long enough for.
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { madeUpFiles, madeUpTokens } from "./made-up.ts";
import { madeUpCertificates, madeUpCsrs, madeUpHeaders } from "./made-up-requests.ts";

const signingKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

test("half a million files are read or refused", () => madeUpFiles(500_000));
test("half a million tokens are nobody's", () => madeUpTokens(signingKey(), 500_000));
test("two hundred thousand requests for certificates are refused, or are what their key signed", () =>
  madeUpCsrs(200_000));
test("two hundred thousand certificates are signed by nobody", () => madeUpCertificates(200_000));
test("half a million headers let nobody in", () => madeUpHeaders(500_000));
