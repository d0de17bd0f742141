const shortModes = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
} as const;

/** `RWO,ROX`. */
export const accessModes = (modes: readonly string[] = []): string =>
  Object.entries(shortModes)
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(",");

export const classAnnotation = "volume.beta.kubernetes.io/storage-class";

/** The class as a field or, before there was one, as an annotation. */
export const storageClassOf = (
  metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined },
  spec: { readonly storageClassName?: string | undefined },
): string => metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? "";
