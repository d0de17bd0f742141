import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect } from "node:tls";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { parseFlags } from "#cli/flags.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { makeAuthority, makeCertificate } from "./certificate-maker.ts";
import { http2By, http2Flags, tlsBy, tlsFlags } from "./tls-settings.ts";

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };

test("of the suites of TLS 1.2 only those are spoken that were asked for, and those of TLS 1.3 in any case", async (t) => {
  const suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
  const { flags } = parseFlags(tlsFlags, [`--tls-cipher-suites=${suite}`]);
  const pair = makeCertificate(makeAuthority(validity), { commonName: "a", hosts: ["localhost"] }, validity);
  const handler = async () => ({ code: 200, body: "" });
  const front = httpsFront({ ...pair, clientCa: undefined, log: silentLog, handler, ...tlsBy(flags) });
  t.after(() => front.close(100));
  const port = await front.listen(0, "127.0.0.1");
  const chosen = async (options: object): Promise<string> => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
    t.after(() => socket.destroy());
    await once(socket, "secureConnect");
    return socket.getCipher().standardName;
  };
  assert.equal(await chosen({ maxVersion: "TLSv1.2" }), suite);
  await assert.rejects(chosen({ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }));
  assert.match(await chosen({}), /^TLS_(AES|CHACHA20)/);
});

test("the share of requests after which clients go elsewhere is the one that was asked for", () => {
  const of = (chance: string) => http2By(parseFlags(http2Flags, [`--goaway-chance=${chance}`]).flags, seededRandom(1));
  assert.equal(of("0").sendsAway, undefined);
  const { sendsAway = () => false } = of("0.02");
  const sent = Array.from({ length: 10_000 }, () => sendsAway()).filter(Boolean).length;
  assert.ok(sent > 150 && sent < 250, String(sent));
});
