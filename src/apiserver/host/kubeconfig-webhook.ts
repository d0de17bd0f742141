// Servers that a kubeconfig names and that are asked by POST: those of audit, of authentication, of authorization and of image policies. In
// such a file the cluster is the server that is asked, and the user is how we show who we are.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { type KubeCluster, parseKubeconfig, resolveContext } from "#client/kubeconfig.ts";
import { credentialsOfUser } from "../webhook/credentials.ts";
import type { WebhookAnswer, WebhookTarget } from "../webhook/transport.ts";
import { webhookConnections } from "./webhook-connections.ts";

/** Larger answers are refused: no review is nearly as long. */
const maxBytes = 1024 * 1024;

export interface KubeconfigWebhook {
  /** Rejects where there is no answer within the time. */
  post(body: string, timeoutMs: number): Promise<WebhookAnswer>;
  close(): void;
}

/** Throws UsageError for a file that does not say where to ask. */
export function kubeconfigWebhook(file: string, clock: Clock): KubeconfigWebhook {
  const { cluster, user } = resolveContext(parseKubeconfig(readFileSync(file, "utf8"), file), file);
  const read = (path: string): string => readFileSync(resolve(dirname(file), path), "utf8");
  const url = URL.parse(cluster.server);
  if (url?.protocol !== "https:" || url.search)
    throw new UsageError(`${file}: ${JSON.stringify(cluster.server)} is no https URL without a query`);
  for (const field of ["tls-server-name", "proxy-url"])
    if (cluster[field]) throw new UsageError(`${file}: ${field} is not supported for webhooks`);
  for (const field of ["exec", "auth-provider"])
    if (user[field]) throw new UsageError(`${file}: credentials by ${field} are not supported for webhooks`);
  const ca = authorityOf(cluster, read);
  const connections = webhookConnections();
  return {
    async post(body, timeoutMs) {
      // Read with each call: whoever gives tokens and certificates out renews them in their files.
      const credentials = credentialsOfUser(user, read);
      const target: WebhookTarget = {
        url,
        credentials,
        ...(ca !== undefined && { ca }),
        ...(cluster["insecure-skip-tls-verify"] && { trustsAny: true }),
      };
      const headers = {
        host: url.host,
        "content-type": "application/json",
        accept: "application/json",
        ...(credentials.authorization !== undefined && { authorization: credentials.authorization }),
      };
      const timeUp = new AbortController();
      const cancel = clock.after(timeoutMs, () =>
        timeUp.abort(new Error(`${url.host} did not answer within ${timeoutMs} ms`)),
      );
      try {
        return await connections.post(target, { path: url.pathname, headers, body, maxBytes }, timeUp.signal);
      } finally {
        cancel();
      }
    },
    close: () => connections.close(),
  };
}

function authorityOf(cluster: KubeCluster, read: (path: string) => string): string | undefined {
  const data = cluster["certificate-authority-data"];
  if (data) return Buffer.from(data, "base64").toString();
  const path = cluster["certificate-authority"];
  return path ? read(path) : undefined;
}
