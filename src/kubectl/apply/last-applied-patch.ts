// The patch that notes an object as what was applied last (upstream: kubectl/pkg/cmd/util/editor, GetApplyPatch).
import { createMergePatch } from "#schema/patch/merge-patch.ts";
import { goJson } from "../go/json.ts";
import type { KubeObject } from "../rest/client.ts";
import { annotated, lastAppliedAnnotation } from "../write-options.ts";

export interface AnnotationPatch {
  readonly patch: string;
  /** What is noted. */
  readonly configuration: string;
}

export function annotationPatch(object: KubeObject): AnnotationPatch {
  const configuration = `${goJson(object)}\n`;
  return {
    patch: goJson(createMergePatch(object, annotated(object, lastAppliedAnnotation, configuration))),
    configuration,
  };
}
