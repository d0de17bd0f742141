// Upstream: pkg/registry/authentication/selfsubjectreview/rest.go.
import { SelfSubjectReview } from "#api/authentication/v1/self-subject-review.ts";
import { timeOf } from "#schema/time.ts";
import type { VirtualHandler } from "../served-resource.ts";
import type { VirtualParts } from "./list.ts";
import { decodeReview, reviewResponse, userInfo } from "./review.ts";

/** Who you are to the server: `kubectl auth whoami`. */
export const selfSubjectReview =
  ({ clock }: Pick<VirtualParts, "clock">): VirtualHandler =>
  async (request) => {
    const { warnings } = await decodeReview(request, SelfSubjectReview);
    const metadata = { creationTimestamp: timeOf(clock.now()) };
    return reviewResponse(SelfSubjectReview, { metadata, status: { userInfo: userInfo(request.user) } }, warnings);
  };
