import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#api/core/v1/secret.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { credentialsIn } from "./image-credentials.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const secretOf = (data: Readonly<Record<string, string>>) => applyDefaults(Secret, { metadata: {}, data }) as Secret;

test("a pull secret counts for the images of its registry", () => {
  const login = (name: string) => ({ auth: base64(`${name}:pass:word`) });
  const auths = {
    "https://index.docker.io/v1/": login("hub"),
    "registry.example": login("all"),
    "registry.example/team": login("team"),
    "plain.example:5000": { username: "u", password: "p" },
    "broken.example": { auth: base64("nobody") },
  };
  const secret = secretOf({ ".dockerconfigjson": base64(JSON.stringify({ auths })) });
  const table: readonly [string, string | undefined][] = [
    ["nginx", "hub"],
    ["someone/app:1", "hub"],
    ["registry.example/app", "all"],
    ["registry.example/team/app@sha256:1", "team"],
    ["registry.example/teams/app", "all"],
    ["plain.example:5000/app", "u"],
    ["plain.example/app", undefined],
    ["broken.example/app", undefined],
    ["localhost/app", undefined],
  ];
  for (const [image, username] of table) assert.equal(credentialsIn(secret, image)?.username, username, image);
  assert.equal(credentialsIn(secret, "nginx")?.password, "pass:word");
  const legacy = secretOf({ ".dockercfg": base64(JSON.stringify({ "registry.example": login("old") })) });
  assert.equal(credentialsIn(legacy, "registry.example/app")?.username, "old");
  assert.equal(credentialsIn(secretOf({ other: "eA==" }), "nginx"), undefined);
  assert.throws(() => credentialsIn(secretOf({ ".dockercfg": base64("{") }), "nginx"));
});
