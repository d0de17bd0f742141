import type { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";

/** An object of which a pod has files. */
export interface FileReference {
  readonly kind: "ConfigMap" | "Secret";
  readonly namespace: string;
  readonly name: string;
}

/** The objects whose changes have to show in the volumes of a running pod. Variables are read once, when a container starts. */
export function fileReferences({ metadata, spec }: Pod): readonly FileReference[] {
  const namespace = metadata.namespace ?? "";
  const references = new Map<string, FileReference>();
  const note = (kind: FileReference["kind"], name: string | undefined) => {
    if (name) references.set(`${kind}/${name}`, { kind, namespace, name });
  };
  for (const { configMap, secret, projected } of spec.volumes ?? []) {
    note("ConfigMap", configMap?.name);
    note("Secret", secret?.secretName);
    for (const source of projected?.sources ?? []) {
      note("ConfigMap", source.configMap?.name);
      note("Secret", source.secret?.name);
    }
  }
  return [...references.values()];
}

/** Whether the files of a volume are made of API objects: only the kubelet may write it. */
export const isMadeOfObjects = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  Boolean(configMap ?? secret ?? downwardAPI ?? projected);

/** Whether a volume shows fields of the pod itself. */
export const showsPod = ({ downwardAPI, projected }: Volume): boolean =>
  Boolean(downwardAPI ?? projected?.sources.some((source) => source.downwardAPI));
