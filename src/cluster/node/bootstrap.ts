// The way of a kubelet to an identity of its own: it comes with a kubeconfig that may do nothing but ask for a client certificate, and goes
// on with the kubeconfig of a node.
// Upstream: pkg/kubelet/certificate/bootstrap/bootstrap.go.
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "#base/clock.ts";
import { isReason, UsageError } from "#base/errors.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import { connectClient } from "#client/host/connect.ts";
import { loadKubeconfig } from "#client/host/kubeconfig-files.ts";
import { type Kubeconfig, resolveContext } from "#client/kubeconfig.ts";
import { signers } from "#controllers/certificates/signer-names.ts";
import { replaceFile } from "../certificates.ts";
import * as identities from "../identities.ts";
import { kubernetesVersion } from "../version.ts";
import { type CertificateOrder, CertificateRefusal, requestCertificate } from "./request-certificate.ts";
import type { StoredPair } from "./stored-pair.ts";

export interface BootstrapOptions {
  readonly node: string;
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string | undefined;
  /** Where the client certificate is kept. */
  readonly pair: StoredPair;
  readonly clock: Clock;
  readonly log: Log;
}

const again = { firstMs: 500, maxMs: 10_000 };

export const clientCertificate = (node: string): CertificateOrder => ({
  ...identities.node(node),
  signerName: signers.kubeletClient,
  usages: ["digital signature", "client auth"],
});

/** Makes the kubeconfig of the node unless there is one that is good. Throws if the API server refuses. */
export async function bootstrap(options: BootstrapOptions, signal: AbortSignal): Promise<void> {
  const { kubeconfig, bootstrapKubeconfig, pair, node, clock, log } = options;
  if (existsSync(kubeconfig) && (await isGood(options))) return;
  if (bootstrapKubeconfig === undefined)
    throw new UsageError(
      existsSync(kubeconfig)
        ? `${kubeconfig}: its certificate has ended; name a --bootstrap-kubeconfig to ask for another`
        : `${kubeconfig} is not there; name a --bootstrap-kubeconfig to have it made`,
    );
  const place = { explicit: bootstrapKubeconfig, env: {} };
  const { client, close } = await connectClient({
    ...place,
    userAgent: `kubelet/${kubernetesVersion}`,
    clock,
    signal,
  });
  try {
    const asked = (name: string) => log.info("asked for a client certificate", { request: name, node });
    const ask = () => requestCertificate(clientCertificate(node), { client, clock, asked }, signal);
    const when = (error: unknown) =>
      !(error instanceof CertificateRefusal || isReason(error, "Unauthorized") || isReason(error, "Forbidden"));
    pair.write(await retry(ask, { ...again, clock, when }, signal));
  } finally {
    close();
  }
  const { cluster } = resolveContext(await loadKubeconfig(place), bootstrapKubeconfig);
  makeFolder(dirname(kubeconfig));
  replaceFile(kubeconfig, nodeKubeconfig(cluster, pair.path), 0o600);
}

/** One whose certificate is in our hands has to have some life left; any other is its owner's business. */
async function isGood({ kubeconfig, pair }: BootstrapOptions): Promise<boolean> {
  const { user } = resolveContext(await loadKubeconfig({ explicit: kubeconfig, env: {} }), kubeconfig);
  return user["client-certificate"] !== pair.path || pair.read() !== undefined;
}

/** In JSON, which is YAML, too. */
const nodeKubeconfig = (cluster: Kubeconfig["clusters"][number]["cluster"], pem: string): string =>
  `${JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "default-cluster", cluster }],
      users: [{ name: "default-auth", user: { "client-certificate": pem, "client-key": pem } }],
      contexts: [{ name: "default-context", context: { cluster: "default-cluster", user: "default-auth" } }],
      "current-context": "default-context",
    },
    undefined,
    2,
  )}\n`;
