import assert from "node:assert/strict";
import { test } from "node:test";
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { csrOf, generalNames } from "#api/certificates/v1/testing.ts";
import { Node } from "#api/core/v1/node.ts";
import { world } from "#client/testing.ts";
import { signers } from "../certificates/signer-names.ts";
import { leftAnnotation, leftNodeController } from "./left-nodes.ts";
import { servingApprovingController } from "./serving-approving.ts";

const now = "2026-01-01T00:00:00Z";

interface CertificateQuestion {
  readonly as: string;
  readonly dns: string;
  readonly ip: readonly number[];
}

/** What becomes of a request of node a, whose address is 192.0.2.7, while b has 192.0.2.8. */
async function writesFor({ as, dns, ip }: CertificateQuestion): Promise<readonly string[]> {
  const w = world({ now });
  const addresses = (address: string) => ({ addresses: [{ type: "InternalIP", address }] });
  w.have(Node, { metadata: { name: "a" }, status: addresses("192.0.2.7") });
  w.have(Node, { metadata: { name: "b" }, status: addresses("192.0.2.8") });
  const csr = w.have(CertificateSigningRequest, {
    metadata: { name: "x" },
    spec: {
      signerName: signers.kubeletServing,
      username: as,
      usages: ["digital signature", "server auth"],
      request: csrOf({ O: ["system:nodes"], CN: ["system:node:a"] }, undefined, [
        generalNames.dns(dns),
        generalNames.ip(...ip),
      ]),
    },
  });
  await w.reconcile(servingApprovingController, csr);
  return w.writes();
}

test("a node gets a certificate to serve with for its own name and addresses, and for those of nobody else", async () => {
  const good = { as: "system:node:a", dns: "a", ip: [192, 0, 2, 7] };
  assert.deepEqual(await writesFor(good), ["update CertificateSigningRequest x/approval"]);
  assert.deepEqual(await writesFor({ ...good, ip: [192, 0, 2, 8] }), [], "the address of b");
  assert.deepEqual(await writesFor({ ...good, dns: "b" }), [], "the name of b");
  assert.deepEqual(await writesFor({ ...good, as: "system:node:b" }), [], "b asks in the name of a");
});

test("a node that has no addresses yet is looked at again", async () => {
  const w = world({ now });
  w.have(Node, { metadata: { name: "a" } });
  const csr = w.have(CertificateSigningRequest, {
    metadata: { name: "x" },
    spec: {
      signerName: signers.kubeletServing,
      username: "system:node:a",
      usages: ["digital signature", "server auth"],
      request: csrOf({ O: ["system:nodes"], CN: ["system:node:a"] }, undefined, [generalNames.dns("a")]),
    },
  });
  assert.deepEqual(await w.reconcile(servingApprovingController, csr), { afterMs: 1000 });
});

test("a node whose machine has left is deleted", async () => {
  const w = world({ now });
  const left = w.have(Node, { metadata: { name: "a", annotations: { [leftAnnotation]: "true" } } });
  await w.reconcile(leftNodeController, left);
  assert.deepEqual(w.writes(), ["delete Node a"]);
});
