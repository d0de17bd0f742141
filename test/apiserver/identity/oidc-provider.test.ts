// Tokens of a real OpenID provider that is not ours, whose keys are rotated under load.
import assert from "node:assert/strict";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { parseFlags } from "#cli/flags.ts";
import { Certificates } from "#cluster/certificates.ts";
import { tokenIssuerFlags, tokenIssuers } from "#cluster/token-issuers.ts";
import { openIdProvider } from "./openid-provider.ts";

const audience = "urn:kubernetes";
const server = ["https://kubernetes.default.svc"];

interface Key {
  readonly kid: string;
}
const newKey = () => ({
  ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
  kid: randomUUID(),
  alg: "RS256",
  use: "sig",
});

/** A provider behind TLS on loopback, with the keys of the moment. */
async function provider(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "oidc-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const ca = certificates.authority().cert;
  const pair = certificates.issue("serving", { commonName: "provider", hosts: ["127.0.0.1"] });
  let serve: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined;
  const server = createServer(pair, (...exchange) => serve(...exchange));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** As a provider does that is started anew with other keys: the first signs, all are shown. */
  const rotate = (keys: readonly Key[]): void => {
    serve = openIdProvider(url, keys, audience);
  };
  const token = async (client = "ann"): Promise<string> => {
    const body = new URLSearchParams({ grant_type: "client_credentials", resource: audience }).toString();
    const sent = request(`${url}/token`, {
      method: "POST",
      ca,
      auth: `${client}:secret-of-${client}`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const answer = JSON.parse(await text(response)) as { access_token?: string };
    assert.ok(answer.access_token, JSON.stringify(answer));
    return answer.access_token;
  };
  const file = join(folder, "ca.pem");
  writeFileSync(file, ca);
  return { url, caFile: file, rotate, token };
}

test("a real provider's keys change under load: no good token waits, and no stale key is believed for longer than a minute", async (t) => {
  const { url, caFile, rotate, token } = await provider(t);
  const first = newKey();
  rotate([first]);
  const clock = new ManualClock(Date.now());
  const flags = [`--oidc-issuer-url=${url}`, `--oidc-client-id=${audience}`, `--oidc-ca-file=${caFile}`];
  const { tokens } = tokenIssuers(parseFlags(tokenIssuerFlags, [...flags, "--oidc-username-prefix=-"]).flags, {
    clock,
    log: silentLog,
    signal: new AbortController().signal,
    audiences: server,
    ownIssuers: [],
  });
  const who = async (shown: string): Promise<string> => {
    const [ask] = tokens;
    try {
      return (await ask?.(shown, server))?.user.name ?? "nobody";
    } catch (error) {
      assert.equal(error instanceof Error && error.name, "TokenError", String(error));
      return "refused";
    }
  };
  assert.equal(await who(await token()), "ann");
  assert.equal(await who(await token("bob")), "bob");

  let present = first;
  for (let round = 0; round < 4; round++) {
    const stale = await Promise.all(Array.from({ length: 5 }, () => token()));
    present = newKey();
    rotate([present]);
    await clock.advance(1000); // a provider is asked for keys that are new to us no more often than this
    const fresh = await Promise.all(Array.from({ length: 5 }, () => token()));
    const load = await Promise.all(Array.from({ length: 60 }, (_, i) => who(fresh[i % fresh.length] ?? "")));
    assert.deepEqual([...new Set(load)], ["ann"], "a token of a new key is good at once");
    await clock.advance(60_001);
    const late = await Promise.all(Array.from({ length: 20 }, (_, i) => who(stale[i % stale.length] ?? "")));
    assert.deepEqual([...new Set(late)], ["refused"], "a key that was withdrawn is not believed any more");
  }

  // As careful providers rotate: the new key is shown before it signs, and the old one as long as its tokens live.
  const kept = await token();
  rotate([newKey(), present]);
  await clock.advance(60_001);
  assert.deepEqual([await who(kept), await who(await token())], ["ann", "ann"]);
  const [head = "", body = "", signature = ""] = kept.split(".");
  const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
  const other = Buffer.from(JSON.stringify({ ...claims, sub: "root" })).toString("base64url");
  assert.equal(await who([head, other, signature].join(".")), "refused");
});
