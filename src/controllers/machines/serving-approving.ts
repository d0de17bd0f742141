// Approves the certificates that nodes ask to serve with, if they name nothing but the node and its own addresses. Upstream leaves
// that to people, since addresses are what a node says of itself; here the addresses of joined machines are checked against those of others.
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { type Csr, parseCsr } from "#api/certificates/v1/request.ts";
import { Node } from "#api/core/v1/node.ts";
import { controller } from "#client/controller.ts";
import { formatIp } from "#schema/ip.ts";
import { hasDecision } from "../certificates/decisions.ts";
import { signers } from "../certificates/signer-names.ts";
import { signerRules } from "../certificates/signer-rules.ts";

const againMs = 1000;

export const servingApprovingController = controller({
  name: "kubelet-serving-approving",
  for: CertificateSigningRequest,
  workers: 1,
  reads: [Node],
  concerns: ({ spec }) => spec.signerName === signers.kubeletServing,

  async reconcile(csr, { client, cache }) {
    if (csr.status.certificate || hasDecision(csr, "Approved") || hasDecision(csr, "Denied")) return;
    const request = parseCsr(csr.spec.request);
    if (signerRules[signers.kubeletServing](request, csr.spec.usages ?? []) !== undefined) return;
    if (csr.spec.username !== request.subject.commonName) return;
    const name = request.subject.commonName.slice("system:node:".length);
    const nodes = cache.list(Node);
    const node = nodes.find(({ metadata }) => metadata.name === name);
    // It tells its addresses when it has found its runtime, which may be later than it asks.
    if (!node?.status.addresses?.length) return { afterMs: againMs };
    if (!namesOnlyItself(request, node, nodes)) return;
    const approval = {
      type: "Approved",
      status: "True",
      reason: "AutoApproved",
      message: "The names are those of the node that asks.",
    };
    const status = { ...csr.status, conditions: [...(csr.status.conditions ?? []), approval] };
    await client.update(CertificateSigningRequest, { ...csr, status }, "approval");
    return undefined;
  },
});

const addressesOf = ({ metadata, status }: Node): readonly string[] => [
  metadata.name,
  ...(status.addresses ?? []).map(({ address }) => address),
];

/** Nobody gets a certificate for an address that another node has, too. */
export function namesOnlyItself({ names }: Csr, node: Node, nodes: readonly Node[]): boolean {
  const own = new Set(addressesOf(node));
  const others = new Set(nodes.filter(({ metadata }) => metadata.name !== node.metadata.name).flatMap(addressesOf));
  const asked = [...names.dns, ...names.ips.map(ipText)];
  return asked.every((one) => own.has(one) && !others.has(one));
}

function ipText(bytes: Uint8Array): string {
  const value = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return formatIp({ family: bytes.length === 4 ? 4 : 6, value });
}
