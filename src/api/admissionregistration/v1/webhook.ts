import { bytes, type Infer, int32, ref, string, struct } from "#schema/index.ts";

export const ServiceReference = struct("admissionregistration/v1.ServiceReference", {
  namespace: string(1).required(),
  name: string(2).required(),
  path: string(3).pointer(),
  port: int32(4).pointer().default(443),
});
export interface ServiceReference extends Infer<typeof ServiceReference> {}

export const WebhookClientConfig = struct("admissionregistration/v1.WebhookClientConfig", {
  url: string(3).pointer(),
  service: ref(1, ServiceReference),
  caBundle: bytes(2),
});
export interface WebhookClientConfig extends Infer<typeof WebhookClientConfig> {}
