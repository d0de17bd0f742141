import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { madeUpFiles, madeUpTokens } from "./made-up.ts";

const signingKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

test("files that are made up are read or refused, and never more than that", () => madeUpFiles(3000));
test("tokens that are made up are nobody's", () => madeUpTokens(signingKey(), 2000));
