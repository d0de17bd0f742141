// Deletes requests that nobody needs any more: kubelets make new ones for as long as there are nodes. Upstream
// looks at all of them every hour; here each request is looked at when its time is over.
// Upstream: pkg/controller/certificates/cleaner/cleaner.go.

import { certificateEnd } from "#api/certificates/v1/certificate-end.ts";
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { isNotFound } from "#base/errors.ts";
import { controller } from "#client/controller.ts";
import { millisOf } from "#schema/time.ts";

const hourMs = 60 * 60 * 1000;
const endedMs = hourMs;
const pendingMs = 24 * hourMs;

export const csrCleanerController = controller({
  name: "csrcleaner",
  for: CertificateSigningRequest,
  workers: 1,

  async reconcile(csr, { client, clock }) {
    const due = Math.min(...deadlines(csr));
    if (due === Number.POSITIVE_INFINITY) return;
    if (due >= clock.now()) return { afterMs: due - clock.now() + 1 };
    try {
      await client.delete(CertificateSigningRequest, csr.metadata, {
        preconditions: { uid: csr.metadata.uid ?? "" },
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  },
});

/** The moments after which the request may go, in milliseconds since 1970. */
function* deadlines({ metadata, status }: CertificateSigningRequest): Iterable<number> {
  yield Number.POSITIVE_INFINITY;
  const { conditions = [], certificate } = status;
  if (conditions.length === 0 && metadata.creationTimestamp !== undefined)
    yield millisOf(metadata.creationTimestamp) + pendingMs;
  for (const { type, lastUpdateTime } of conditions) {
    if (type === "Approved" && certificate) yield certificateEnd(certificate) ?? Number.POSITIVE_INFINITY;
    if (lastUpdateTime === undefined) continue;
    const at = millisOf(lastUpdateTime);
    if (type === "Denied" || type === "Failed") yield at + endedMs;
    if (type === "Approved") yield at + (certificate ? endedMs : pendingMs);
  }
}
