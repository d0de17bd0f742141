import { ageColumn, nameColumn } from "#schema/columns.ts";
import { bool, type Infer, list, map, notSupported, resource, string } from "#schema/index.ts";
import { TopologySelectorTerm } from "../../core/v1/affinity.ts";
import { unchanged } from "../../rules.ts";
import { checkParameters, checkProvisioner, checkTopologies } from "./checks.ts";

const defaultMarks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
] as const;

const bindingModes: readonly string[] = ["Immediate", "WaitForFirstConsumer"];

export const StorageClass = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  returnsDeleted: true,
  shortNames: ["sc"],
  scope: "Cluster",
  doc: "A kind of storage that claims can ask for by name.",
  fields: {
    provisioner: string(2, "Who makes the volumes; cannot change.").required(),
    parameters: map(3, "string", "Settings for the provisioner; cannot change."),
    reclaimPolicy: string(4, "What becomes of a volume when its claim is deleted: Delete or Retain. Cannot change.")
      .known("Delete", "Recycle", "Retain")
      .pointer()
      .default("Delete"),
    mountOptions: list(5, "string", "Options to mount the volumes with."),
    allowVolumeExpansion: bool(6, "Whether claims may grow.").pointer(),
    volumeBindingMode: string(
      7,
      "Make volumes at once (Immediate) or when a pod needs one (WaitForFirstConsumer). Cannot change.",
    )
      .known("Immediate", "WaitForFirstConsumer")
      .pointer()
      .default("Immediate"),
    allowedTopologies: list(8, TopologySelectorTerm, "Where volumes may be made; anywhere if empty."),
  },
  columns: [
    {
      ...nameColumn,
      cell: ({ metadata: { name, annotations } }) =>
        defaultMarks.some((mark) => annotations?.[mark] === "true") ? `${name} (default)` : name,
    },
    { name: "Provisioner", doc: "Who makes the volumes.", cell: ({ provisioner }) => provisioner },
    {
      name: "ReclaimPolicy",
      doc: "What becomes of a volume when its claim is deleted.",
      cell: ({ reclaimPolicy }) => reclaimPolicy,
    },
    { name: "VolumeBindingMode", doc: "When volumes are made.", cell: ({ volumeBindingMode }) => volumeBindingMode },
    {
      name: "AllowVolumeExpansion",
      doc: "Whether claims may grow.",
      cell: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    },
    ageColumn,
  ],
  *check(storageClass, old) {
    const { provisioner, parameters, allowedTopologies, reclaimPolicy, volumeBindingMode } = storageClass;
    yield* checkProvisioner("provisioner", provisioner);
    yield* checkParameters(parameters);
    // An empty policy is taken; nobody will know what to do with the volume.
    if (reclaimPolicy && !["Delete", "Retain"].includes(reclaimPolicy))
      yield notSupported("reclaimPolicy", ["Delete", "Retain"]);
    if (!bindingModes.includes(volumeBindingMode)) yield notSupported("volumeBindingMode", bindingModes);
    yield* checkTopologies(allowedTopologies);
    if (old) yield* unchanged(storageClass, old, "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode");
  },
});
export interface StorageClass extends Infer<typeof StorageClass> {}
