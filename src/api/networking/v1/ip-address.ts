import { nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain, ip, pathSegment } from "#schema/formats.ts";
import { type Infer, type Problem, ref, resource, string, struct } from "#schema/index.ts";
import { unchangedStruct } from "../../rules.ts";

export const ParentReference = struct("networking/v1.ParentReference", {
  group: string(1, "Group of the owner.").is(dns1123Subdomain),
  resource: string(2, "Resource of the owner, such as services.").nonEmpty().is(pathSegment).required().omitEmpty(),
  namespace: string(3, "Namespace of the owner.").is(pathSegment),
  name: string(4, "Name of the owner.").nonEmpty().is(pathSegment).required().omitEmpty(),
});
export interface ParentReference extends Infer<typeof ParentReference> {}

export const IPAddressSpec = struct("networking/v1.IPAddressSpec", {
  parentRef: ref(1, ParentReference, "What uses the address; cannot change.").required().omitEmpty().pointer(),
});
export interface IPAddressSpec extends Infer<typeof IPAddressSpec> {}

export const IPAddress = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "IPAddress",
  plural: "ipaddresses",
  shortNames: ["ip"],
  scope: "Cluster",
  doc: "An address in use by a service; the name of the object is the address.",
  fields: {
    spec: ref(2, IPAddressSpec, "Who uses it.").required(),
  },
  nameFormat: ip,
  columns: [
    nameColumn,
    {
      name: "ParentRef",
      doc: "What uses the address.",
      cell: ({ spec: { parentRef } }) => {
        if (!parentRef) return "<none>";
        const { group, resource, namespace, name } = parentRef;
        const owner = [resource, group].filter(Boolean).join(".").toLowerCase();
        return [owner, namespace, name].filter(Boolean).join("/");
      },
    },
  ],
  *check({ spec: { parentRef } }, old): Iterable<Problem> {
    if (old) yield* unchangedStruct("spec.parentRef", ParentReference, parentRef, old.spec.parentRef);
  },
});
export interface IPAddress extends Infer<typeof IPAddress> {}
