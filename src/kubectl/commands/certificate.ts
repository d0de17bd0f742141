// `kubectl certificate approve` and `deny` (upstream: kubectl/pkg/cmd/certificates/certificates.go).
import { ApiError, isNotFound } from "#base/errors.ts";
import { formatTime } from "#schema/time.ts";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import { goJson } from "../go/json.ts";
import { outputPrinter, printFlags } from "../printers/output.ts";
import { metadataOf, type ResourceInfo, resourcePath, stringIn } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { filenameFlags, printObject } from "../write-options.ts";

interface Verdict {
  readonly word: "approve" | "deny";
  readonly done: "approved" | "denied";
  readonly condition: "Approved" | "Denied";
  readonly reason: string;
}

const verdictCommand = (verdict: Verdict, long: string) =>
  command({
    use: `${verdict.word} (-f FILENAME | NAME)`,
    long,
    examples: `  # The request of a node
  kubectl certificate ${verdict.word} node-csr-1`,
    flags: {
      ...printFlags,
      ...filenameFlags,
      force: { type: "bool", help: `Write it even if it is ${verdict.done} already.` },
    },
    run: async (session, args, flags) => {
      if (args.length === 0 && flags.filename.length === 0 && flags.kustomize === "")
        throw new KubectlError("one or more CSRs must be specified as <name> or -f <filename>");
      const printer = outputPrinter(flags, { operation: verdict.done, cwd: session.io.cwd });
      const query = await ResourceQuery.of(session, {
        filenames: flags.filename,
        isRecursive: flags.recursive,
        kustomize: flags.kustomize,
        ...(args.length > 0 && { args: args.map((name) => `certificatesigningrequests/${name}`) }),
        continueOnError: true,
        flatten: true,
        latest: true,
      });
      let count = 0;
      await query.visit(async (info) => {
        await judge(session, info, verdict, flags.force);
        count++;
        printObject(session, printer, info.object ?? {});
      });
      if (count === 0) session.print("No resources found");
    },
  });

const approve = verdictCommand(
  { word: "approve", done: "approved", condition: "Approved", reason: "KubectlApprove" },
  "Let a signer issue the certificates that are requested. Whoever has one may act as the identity in it: look at the request first.",
);
const deny = verdictCommand(
  { word: "deny", done: "denied", condition: "Denied", reason: "KubectlDeny" },
  "Keep signers from issuing the certificates that are requested.",
);

export const certificate = command({
  use: "certificate SUBCOMMAND",
  long: "Decide on requests for certificates.",
  subcommands: [
    { name: "approve", short: "Approve a certificate signing request", load: async () => approve },
    { name: "deny", short: "Deny a certificate signing request", load: async () => deny },
  ],
});

const mostAttempts = 10;
const group = "certificates.k8s.io";
const requests = { group, version: "v1", resource: "certificatesigningrequests", isNamespaced: false };

/** Adds the condition, and again if somebody else wrote in between. Throws KubectlError for a request decided otherwise. */
async function judge(session: Session, info: ResourceInfo, verdict: Verdict, isForced: boolean): Promise<void> {
  const { mapping, name } = info;
  if (mapping?.kind !== "CertificateSigningRequest" || mapping.group !== group)
    throw new KubectlError(
      `can only handle CertificateSigningRequest.${group} objects, got ${mapping?.kind}${mapping?.group ? `.${mapping.group}` : ""}`,
    );
  const client = await session.client();
  for (let attempt = 0; ; attempt++) {
    const request = await client.json({ path: resourcePath(requests, "", name) }).catch((cause: unknown) => {
      if (!isNotFound(cause)) throw cause;
      throw new KubectlError(
        `could not find v1 version of ${name}: ${cause instanceof Error ? cause.message : cause}`,
        {
          cause,
        },
      );
    });
    const judged = withVerdict(session, request, verdict);
    if (judged === request && !isForced) return;
    try {
      await client.json({
        method: "PUT",
        path: resourcePath(requests, "", name, "approval"),
        body: goJson(judged),
        contentType: "application/json",
      });
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "Conflict" || attempt >= mostAttempts) throw error;
    }
  }
}

/** The same request if it has the condition already. */
function withVerdict(session: Session, request: KubeObject, { word, done, condition, reason }: Verdict): KubeObject {
  const status = (request.status ?? {}) as { readonly conditions?: readonly { readonly type?: string }[] };
  const conditions = status.conditions ?? [];
  const opposite = condition === "Approved" ? "Denied" : "Approved";
  if (conditions.some(({ type }) => type === opposite))
    throw new KubectlError(
      `certificate signing request ${JSON.stringify(stringIn(metadataOf(request).name))} is already ${opposite}`,
    );
  if (conditions.some(({ type }) => type === condition)) return request;
  const added = {
    type: condition,
    status: "True",
    reason,
    message: `This CSR was ${done} by kubectl certificate ${word}.`,
    lastUpdateTime: formatTime({ seconds: Math.floor(session.io.clock.now() / 1000), nanos: 0 }),
    lastTransitionTime: null,
  };
  return { ...request, status: { ...status, conditions: [...conditions, added] } };
}
