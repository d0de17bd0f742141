import { ageColumn, nameColumn } from "#schema/columns.ts";
import { byteLength, pathSegment } from "#schema/formats.ts";
import type { Problem } from "#schema/index.ts";
import { type Infer, invalid, ref, resource, string, struct, tooLong } from "#schema/index.ts";
import { domainPrefixedPath } from "../../rules.ts";
import { checkParameters } from "./checks.ts";

export const IngressClassParametersReference = struct(
  "networking/v1.IngressClassParametersReference",
  {
    apiGroup: string(1, "Group of the object; none means the core group.").pointer(),
    kind: string(2, "Kind of the object.").nonEmpty().is(pathSegment).required(),
    name: string(3, "Name of the object.").nonEmpty().is(pathSegment).required(),
    scope: string(4, "Whether the object belongs to the Cluster or to a Namespace.")
      .oneOf("Cluster", "Namespace")
      .publishedAs()
      .default("Cluster")
      .pointer(),
    namespace: string(5, "Namespace of the object, if it has one.").pointer(),
  },
  {
    *check(parameters): Iterable<Problem> {
      yield* checkParameters(parameters);
    },
  },
);
export interface IngressClassParametersReference extends Infer<typeof IngressClassParametersReference> {}

const mostControllerBytes = 250;

export const IngressClassSpec = struct(
  "networking/v1.IngressClassSpec",
  {
    controller: string(1, "Which controller serves the class, such as acme.io/balancer; cannot change."),
    parameters: ref(2, IngressClassParametersReference, "More settings, in an object of the controller's own kind."),
  },
  {
    *check({ controller = "" }, old) {
      if (old && controller !== (old.controller ?? "")) yield invalid("controller", "field is immutable", controller);
      if (byteLength(controller) > mostControllerBytes) yield tooLong("controller", mostControllerBytes);
      yield* domainPrefixedPath("controller", controller);
    },
  },
);
export interface IngressClassSpec extends Infer<typeof IngressClassSpec> {}

export const IngressClass = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "IngressClass",
  plural: "ingressclasses",
  scope: "Cluster",
  doc: "A kind of ingress: which controller serves those that name it.",
  fields: {
    spec: ref(2, IngressClassSpec, "What is wanted.").default({}),
  },
  columns: [
    {
      ...nameColumn,
      cell: ({ metadata }) =>
        metadata.annotations?.["ingressclass.kubernetes.io/is-default-class"] === "true"
          ? `${metadata.name} (default)`
          : metadata.name,
    },
    { name: "Controller", doc: "Which controller serves the class.", cell: ({ spec }) => spec.controller },
    {
      name: "Parameters",
      doc: "Where the controller finds more settings.",
      cell: ({ spec: { parameters } }) =>
        parameters
          ? `${parameters.kind}${parameters.apiGroup === undefined ? "" : `.${parameters.apiGroup}`}/${parameters.name}`
          : "<none>",
    },
    ageColumn,
  ],
});
export interface IngressClass extends Infer<typeof IngressClass> {}
