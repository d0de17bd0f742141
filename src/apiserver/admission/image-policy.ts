// Asks a server whether the images of a pod may run, and believes what it says for a while.
// Upstream: plugin/pkg/admission/imagepolicy/admission.go.
import { Pod } from "#api/core/v1/pod.ts";
import { explain } from "#base/errors.ts";
import { TtlCache } from "#client/ttl-cache.ts";
import type { ReviewResult, ReviewWebhook } from "../webhook/review.ts";
import { type AdmissionPlugin, type AdmissionRefusal, admissionPlugin } from "./plugin.ts";
import { containersOf } from "./pod-containers.ts";

export interface ImagePolicySettings {
  /** Of the server that is asked. */
  readonly kubeconfig: string;
  readonly allowMs: number;
  readonly denyMs: number;
  readonly retryMs: number;
  /** Whether pods are let through where the server cannot be asked. */
  readonly defaultAllow: boolean;
}

export interface ImagePolicyConfiguration {
  readonly settings: ImagePolicySettings;
  readonly review: ReviewWebhook;
}

/** The part of a pod's annotations that is for such servers. */
const forServer = /^[^/]*\.image-policy\.k8s\.io\/./;
const prefix = "imagepolicywebhook.image-policy.k8s.io/";

export function imagePolicyWebhook(configuration: ImagePolicyConfiguration | undefined): AdmissionPlugin {
  let cache: TtlCache<ReviewResult> | undefined;
  return admissionPlugin({
    name: "ImagePolicyWebhook",
    on: { kind: Pod, verbs: ["create", "update"], through: ["", "ephemeralcontainers"] },
    async validate(asked): Promise<AdmissionRefusal> {
      if (!configuration) return "ImagePolicyWebhook has no configuration (--admission-control-config-file)";
      const { settings, review } = configuration;
      const { object, namespace, server } = asked;
      cache ??= new TtlCache(server.clock);
      const annotations = Object.entries(object.metadata.annotations ?? {}).filter(([key]) => forServer.test(key));
      const spec = {
        containers: [...containersOf(object.spec)].map(({ container: { image } }) => ({ image })),
        ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
        namespace,
      };
      const request = { kind: "ImageReview", apiVersion: "imagepolicy.k8s.io/v1alpha1", metadata: {}, spec };
      const believedMs = ({ status }: ReviewResult) => (status.allowed === true ? settings.allowMs : settings.denyMs);
      try {
        const { status } = await cache.get(JSON.stringify(spec), () => review(request), believedMs);
        noteAnnotations(status.auditAnnotations, asked);
        if (status.allowed === true) return undefined;
        return typeof status.reason === "string" && status.reason !== ""
          ? `image policy webhook backend denied one or more images: ${status.reason}`
          : "one or more images rejected by webhook backend";
      } catch (error) {
        if (!settings.defaultAllow) return `the image policy webhook cannot be asked: ${explain(error)}`;
        asked.annotate(`${prefix}failed-open`, "true");
        return undefined;
      }
    },
  });
}

function noteAnnotations(value: unknown, asked: { annotate(key: string, value: string): void }): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, text] of Object.entries(value))
    if (typeof text === "string") asked.annotate(`${prefix}${key}`, text);
}
