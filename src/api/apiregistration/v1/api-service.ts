import { bool, bytes, type Infer, int32, list, ref, resource, string, struct, time } from "#schema/index.ts";

export const APIServiceCondition = struct("apiregistration/v1.APIServiceCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
});
export interface APIServiceCondition extends Infer<typeof APIServiceCondition> {}

export const ServiceReference = struct("apiregistration/v1.ServiceReference", {
  namespace: string(1),
  name: string(2),
  port: int32(3).pointer().default(443),
});
export interface ServiceReference extends Infer<typeof ServiceReference> {}

export const APIServiceSpec = struct("apiregistration/v1.APIServiceSpec", {
  service: ref(1, ServiceReference),
  group: string(2),
  version: string(3),
  insecureSkipTLSVerify: bool(4),
  caBundle: bytes(5),
  groupPriorityMinimum: int32(7).required(),
  versionPriority: int32(8).required(),
});
export interface APIServiceSpec extends Infer<typeof APIServiceSpec> {}

export const APIServiceStatus = struct("apiregistration/v1.APIServiceStatus", {
  conditions: list(1, APIServiceCondition).keyedBy("type"),
});
export interface APIServiceStatus extends Infer<typeof APIServiceStatus> {}

export const APIService = resource({
  group: "apiregistration.k8s.io",
  version: "v1",
  kind: "APIService",
  plural: "apiservices",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, APIServiceSpec).default({}),
    status: ref(3, APIServiceStatus).default({}),
  },
  subresources: { status: true },
});
export interface APIService extends Infer<typeof APIService> {}
