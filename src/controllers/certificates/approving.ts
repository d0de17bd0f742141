// Approves the client certificates that kubelets ask for, where RBAC lets them: the first one of a node, which a bootstrap token asks
// for, and its renewal by the node itself. Unlike upstream's, it denies a token the name of a node that is alive: whoever has a token could
// otherwise become any node.
// Upstream: pkg/controller/certificates/approver/sarapprove.go.
import { SubjectAccessReview } from "#api/authorization/v1/subject-access-review.ts";
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { type Csr, parseCsr } from "#api/certificates/v1/request.ts";
import { Node } from "#api/core/v1/node.ts";
import type { Client } from "#client/client.ts";
import { controller } from "#client/controller.ts";
import { isReady } from "#rules/conditions.ts";
import { hasDecision } from "./decisions.ts";
import { signers } from "./signer-names.ts";
import { kubeletClientProblem } from "./signer-rules.ts";

export const csrApprovingController = controller({
  name: "csrapproving",
  queue: "certificate",
  for: CertificateSigningRequest,
  reads: [Node],
  backoff: { firstMs: 200, maxMs: 1_000_000 },

  async reconcile(csr, { client, cache }) {
    if (csr.status.certificate || hasDecision(csr, "Approved") || hasDecision(csr, "Denied")) return;
    const refused: string[] = [];
    const request = parseCsr(csr.spec.request);
    for (const { subresource, message } of rightsToAsk(csr, request)) {
      if (await isAllowed(client, csr, subresource)) {
        const { commonName } = request.subject;
        const node = cache.get(Node, { name: commonName.slice("system:node:".length) });
        const isTaken = node !== undefined && isReady(node) && csr.spec.username !== commonName;
        const decided = isTaken ? denied(csr, node.metadata.name) : approved(csr, message);
        await client.update(CertificateSigningRequest, decided, "approval");
        return;
      }
      refused.push(subresource);
    }
    // Tried again: the right may come later than the request.
    if (refused.length > 0)
      throw new Error(
        `recognized csr ${JSON.stringify(csr.metadata.name)} as [${refused.join(" ")}] but subject access review was not approved`,
      );
  },
});

interface Right {
  readonly subresource: "selfnodeclient" | "nodeclient";
  readonly message: string;
}

/** Rights by which the request would be approved, the narrower first. */
function rightsToAsk({ spec }: CertificateSigningRequest, request: Csr): readonly Right[] {
  if (spec.signerName !== signers.kubeletClient) return [];
  if (kubeletClientProblem(request, spec.usages ?? []) !== undefined) return [];
  const own: Right = {
    subresource: "selfnodeclient",
    message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
  };
  const any: Right = {
    subresource: "nodeclient",
    message: "Auto approving kubelet client certificate after SubjectAccessReview.",
  };
  return spec.username === request.subject.commonName ? [own, any] : [any];
}

async function isAllowed(client: Client, { spec }: CertificateSigningRequest, subresource: string): Promise<boolean> {
  const { status } = await client.create(SubjectAccessReview, {
    spec: {
      user: spec.username,
      uid: spec.uid,
      groups: spec.groups,
      extra: spec.extra,
      resourceAttributes: {
        group: CertificateSigningRequest.group,
        resource: CertificateSigningRequest.plural,
        verb: "create",
        subresource,
        version: "*",
      },
    },
  });
  return status.allowed;
}

const approved = (csr: CertificateSigningRequest, message: string): CertificateSigningRequest =>
  withDecision(csr, { type: "Approved", status: "True", reason: "AutoApproved", message });

const denied = (csr: CertificateSigningRequest, node: string): CertificateSigningRequest =>
  withDecision(csr, {
    type: "Denied",
    status: "True",
    reason: "NodeAlive",
    message: `there is a node ${JSON.stringify(node)} in the cluster already, and it is alive`,
  });

type Decision = NonNullable<CertificateSigningRequest["status"]["conditions"]>[number];
const withDecision = (csr: CertificateSigningRequest, decision: Decision): CertificateSigningRequest => ({
  ...csr,
  status: { ...csr.status, conditions: [...(csr.status.conditions ?? []), decision] },
});
