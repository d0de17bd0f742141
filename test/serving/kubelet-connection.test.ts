import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import { isParts, isStream } from "#wire/http.ts";

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };

test("kubelets are shown the certificate that was renewed last, also by connections that were kept", async (t) => {
  const authority = makeAuthority(validity);
  const pair = makeCertificate(authority, { commonName: "node", hosts: ["127.0.0.1"] }, validity);
  const kubelet = createServer({ ...pair, ca: authority.cert, requestCert: true }, (request, response) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    response.end(String(subject.CN));
  });
  await new Promise<void>((resolve) => kubelet.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    kubelet.closeAllConnections();
    kubelet.close();
  });
  const { port } = kubelet.address() as AddressInfo;
  const client = (commonName: string) => makeCertificate(authority, { commonName }, validity);
  const connection = kubeletConnection({ ...client("before"), ca: authority.cert });
  t.after(() => connection.close());
  const seen = async (): Promise<string> => {
    const { body } = await connection.kubelet(
      { node: "n", host: "127.0.0.1", port },
      { method: "GET", url: "/", headers: {}, signal: new AbortController().signal },
    );
    assert.ok(!isParts(body));
    if (!isStream(body)) return Buffer.from(body).toString();
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return Buffer.concat(parts).toString();
  };
  assert.deepEqual([await seen(), await seen()], ["before", "before"]);
  connection.renew({ ...client("after"), ca: authority.cert });
  assert.equal(await seen(), "after");
});
