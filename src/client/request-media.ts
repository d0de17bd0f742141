// In which form requests and answers travel, in JSON.
import type { ApiRequest, PatchType, RequestVerb } from "#wire/api-request.ts";
import { jsonType } from "#wire/negotiate.ts";

const patchTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

export const contentType = ({ body }: ApiRequest): string => (body?.patchType ? patchTypes[body.patchType] : jsonType);

const metadataOf = (kind: string): string => `${jsonType};as=${kind};g=meta.k8s.io;v=v1,${jsonType}`;
const metadataTypes: Partial<Record<RequestVerb, string>> = {
  get: metadataOf("PartialObjectMetadata"),
  list: metadataOf("PartialObjectMetadataList"),
  watch: metadataOf("PartialObjectMetadata"),
  patch: metadataOf("PartialObjectMetadata"),
};

/** Of kinds that are only known by their metadata, the rest need not be sent. */
export const acceptedBy = ({ expects, verb }: ApiRequest): string =>
  (expects?.metadataOnly && metadataTypes[verb]) || jsonType;
