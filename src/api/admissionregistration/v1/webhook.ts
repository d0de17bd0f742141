import { bytes, type Infer, int32, ref, string, struct } from "#schema/index.ts";

export const ServiceReference = struct("admissionregistration/v1.ServiceReference", {
  namespace: string(1, "Namespace of the service.").required(),
  name: string(2, "Name of the service.").required(),
  path: string(3, "Path to send requests to.").pointer(),
  port: int32(4, "Port of the service.").pointer().default(443),
});
export interface ServiceReference extends Infer<typeof ServiceReference> {}

export const WebhookClientConfig = struct("admissionregistration/v1.WebhookClientConfig", {
  url: string(3, "Where the webhook is, for one outside the cluster.").pointer(),
  service: ref(1, ServiceReference, "The service that runs it, for one inside."),
  caBundle: bytes(2, "Certificates to check the server's by; those of the system if absent."),
});
export interface WebhookClientConfig extends Infer<typeof WebhookClientConfig> {}
