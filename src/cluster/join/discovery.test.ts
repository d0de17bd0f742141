import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { type Clock, systemClock } from "#base/clock.ts";
import { makeAuthority, makeCertificate } from "../certificate-maker.ts";
import { caHash, type DiscoveryOptions, discoverCluster } from "./discovery.ts";

const day = 24 * 3_600_000;
const now = systemClock.now();
const validity = { notBefore: new Date(now - day), notAfter: new Date(now + day) };
const token = { id: "abcdef", secret: "0123456789abcdef" };
const { signal } = new AbortController();

const signed = (content: string): string => {
  const head = Buffer.from(JSON.stringify({ alg: "HS256", kid: token.id })).toString("base64url");
  const whole = `${head}.${Buffer.from(content).toString("base64url")}`;
  return `${head}..${createHmac("sha256", token.secret).update(whole).digest("base64url")}`;
};

/** A server with a certificate of its own authority, which tells of the authority that is given. */
async function serving<T>(told: string | undefined, use: (options: DiscoveryOptions) => Promise<T>): Promise<T> {
  const authority = makeAuthority(validity);
  const ca = told ?? authority.cert;
  const cluster = { server: "https://cluster:6443", "certificate-authority-data": Buffer.from(ca).toString("base64") };
  const kubeconfig = JSON.stringify({ clusters: [{ name: "", cluster }] });
  const data = { kubeconfig, [`jws-kubeconfig-${token.id}`]: signed(kubeconfig) };
  const pair = makeCertificate(authority, { commonName: "x", hosts: ["127.0.0.1"] }, validity);
  const server = createServer(pair, (_, response) => response.end(JSON.stringify({ data }))).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    return await use({ host: "127.0.0.1", port, token, caHashes: [caHash(ca)], clock: systemClock });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test("a machine believes a cluster that knows the token and has the authority of the hash", () =>
  serving(undefined, async (options) => {
    const { server, ca } = await discoverCluster(options, signal);
    assert.equal(server, "https://cluster:6443");
    assert.deepEqual([caHash(ca)], options.caHashes);
  }));

test("a wrong hash, a wrong token and a wrong clock are said plainly", () =>
  serving(undefined, async (options) => {
    const refusal = (changed: Partial<DiscoveryOptions>, words: RegExp) =>
      assert.rejects(discoverCluster({ ...options, ...changed }, signal), words);
    await refusal({ caHashes: [`sha256:${"0".repeat(64)}`] }, /is not the one that --ca-hash names/);
    await refusal({ token: { ...token, secret: "x".repeat(16) } }, /the token is wrong: its first part is known/);
    const late: Clock = { ...systemClock, now: () => systemClock.now() + 10 * 60_000 };
    await refusal({ clock: late }, /the clock of this machine and that of the cluster differ by 10 minutes/);
    const hasty: Clock = { ...systemClock, elapsed: () => systemClock.elapsed() * 1000 };
    await refusal({ token: { ...token, id: "zzzzzz" }, clock: hasty }, /the token zzzzzz\.… is not known/);
  }));

test("somebody in between who repeats what the cluster signed is not believed", () =>
  serving(makeAuthority(validity).cert, (options) =>
    assert.rejects(discoverCluster(options, signal), /127\.0\.0\.1:\d+: .*(certificate|signature)/i),
  ));

test("an answer without end is not read to its end", async () => {
  const pair = makeCertificate(makeAuthority(validity), { commonName: "x", hosts: ["127.0.0.1"] }, validity);
  const server = createServer(pair, (_, response) => response.end("x".repeat(2 << 20))).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    const options = { host: "127.0.0.1", port, token, caHashes: [], clock: systemClock };
    await assert.rejects(discoverCluster(options, signal), /the answer is too long/);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
