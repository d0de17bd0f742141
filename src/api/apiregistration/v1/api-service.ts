import { fromBase64 } from "#base/base64.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1035Label, dns1123Subdomain, pathSegment, portNumber } from "#schema/formats.ts";
import {
  bool,
  bytes,
  type Infer,
  int32,
  invalid,
  list,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { problemsOf } from "#schema/validate.ts";
import { under } from "../../core/v1/checks/problems.ts";

export const APIServiceCondition = struct("apiregistration/v1.APIServiceCondition", {
  type: string(1, "What the condition is about; Available is the only one.").required(),
  status: string(2, "True, False or Unknown.").oneOf("True", "False", "Unknown").publishedAs().required(),
  lastTransitionTime: time(3, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
});
export interface APIServiceCondition extends Infer<typeof APIServiceCondition> {}

export const ServiceReference = struct("apiregistration/v1.ServiceReference", {
  namespace: string(1, "Namespace of the service."),
  name: string(2, "Name of the service."),
  port: int32(3, "Port of the service.").pointer().default(443),
});
export interface ServiceReference extends Infer<typeof ServiceReference> {}

export const APIServiceSpec = struct("apiregistration/v1.APIServiceSpec", {
  service: ref(
    1,
    ServiceReference,
    "The service that answers for the group and version; this server itself if absent.",
  ),
  group: string(2, "Group that is served."),
  version: string(3, "Version that is served."),
  insecureSkipTLSVerify: bool(4, "Whether to trust the service without checking its certificate."),
  caBundle: bytes(5, "Certificates to check the service's by."),
  groupPriorityMinimum: int32(7, "Where the group stands among groups; higher comes first.").required(),
  versionPriority: int32(8, "Where the version stands within its group; higher comes first.").required(),
});
export interface APIServiceSpec extends Infer<typeof APIServiceSpec> {}

export const APIServiceStatus = struct("apiregistration/v1.APIServiceStatus", {
  conditions: list(1, APIServiceCondition, "Whether the service answers.").keyedBy("type"),
});
export interface APIServiceStatus extends Infer<typeof APIServiceStatus> {}

export const APIService = resource({
  group: "apiregistration.k8s.io",
  version: "v1",
  kind: "APIService",
  plural: "apiservices",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "A group and version of the API, and who serves it.",
  fields: {
    spec: ref(2, APIServiceSpec, "What is wanted.").default({}),
    status: ref(3, APIServiceStatus, "Whether it answers.").default({}),
  },
  subresources: { status: true },
  nameFormat: (name, { spec }) => nameProblems(name, spec),
  columns: [
    nameColumn,
    {
      name: "Service",
      doc: "The service that answers.",
      cell: ({ spec: { service } }) => (service ? `${service.namespace}/${service.name}` : "Local"),
    },
    { name: "Available", doc: "Whether it answers.", cell: ({ status }) => availability(status) },
    ageColumn,
  ],
  *check({ metadata, spec }, old): Iterable<Problem> {
    // The name of a new one is checked with all that is said of it in metadata.
    if (old && metadata.name)
      for (const detail of nameProblems(metadata.name, spec)) yield invalid("metadata.name", detail);
    yield* under("spec", problemsOf(spec, checkSpec(spec)));
  },
});
export interface APIService extends Infer<typeof APIService> {}

function availability({ conditions = [] }: APIServiceStatus): string {
  const available = conditions.find(({ type }) => type === "Available");
  if (!available) return "Unknown";
  return available.status === "True" ? "True" : `${available.status} (${available.reason ?? ""})`;
}

function nameProblems(name: string, { group = "", version = "" }: APIServiceSpec): readonly string[] {
  const wrong = pathSegment(name);
  if (wrong.length > 0 || name === `${version}.${group}`) return wrong;
  return [`must be \`spec.version+"."+spec.group\`: ${JSON.stringify(`${version}.${group}`)}`];
}

function* checkSpec(spec: APIServiceSpec): Iterable<Problem> {
  const { service, group, version = "", insecureSkipTLSVerify, caBundle, groupPriorityMinimum, versionPriority } = spec;
  if (!group && version !== "v1")
    yield required("group", "only v1 may have an empty group and it better be legacy kube");
  for (const detail of group ? dns1123Subdomain(group) : []) yield invalid("group", detail);
  for (const detail of dns1035Label(version)) yield invalid("version", detail, version);
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20_000)
    yield invalid("groupPriorityMinimum", "must be positive and less than 20000");
  if (versionPriority <= 0 || versionPriority > 1000)
    yield invalid("versionPriority", "must be positive and less than 1000");
  if (!service) {
    if (caBundle)
      yield invalid("caBundle", "local APIServices may not have a caBundle", `${fromBase64(caBundle)?.length} bytes`);
    if (insecureSkipTLSVerify)
      yield invalid("insecureSkipTLSVerify", "local APIServices may not have insecureSkipTLSVerify");
    return;
  }
  if (!service.namespace) yield required("service.namespace");
  if (!service.name) yield required("service.name");
  const portProblem = portNumber(service.port);
  if (portProblem) yield invalid("service.port", `port is not valid: ${portProblem}`);
  if (insecureSkipTLSVerify && caBundle)
    yield invalid("insecureSkipTLSVerify", "may not be true if caBundle is present");
}
