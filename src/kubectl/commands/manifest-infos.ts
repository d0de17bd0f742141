// The objects of manifests, all of them read before the first is used.
import type { ResourceInfo } from "../resources/resource-info.ts";
import { ResourceQuery, type ResourceQueryOptions } from "../resources/resource-query.ts";
import type { Session } from "../session.ts";
import { manifestValidator } from "../validation/validate-manifest.ts";

interface ManifestRequest {
  readonly filename: readonly string[];
  readonly recursive: boolean;
  readonly kustomize: string;
  readonly selector?: string;
  readonly validate?: string;
}

export interface ManifestInfos {
  readonly infos: readonly ResourceInfo[];
  /** What is wrong with the others. */
  readonly errors: readonly Error[];
}

export async function manifestInfos(session: Session, request: ManifestRequest): Promise<ManifestInfos> {
  const infos: ResourceInfo[] = [];
  const query = await ResourceQuery.of(session, {
    filenames: request.filename,
    isRecursive: request.recursive,
    kustomize: request.kustomize,
    labelSelector: request.selector ?? "",
    continueOnError: true,
    flatten: true,
    ...optionalValidate(session, request.validate),
  });
  try {
    await query.visit(async (info) => {
      infos.push(info);
    });
    return { infos, errors: [] };
  } catch (error) {
    if (!(error instanceof Error) || session.io.signal.aborted) throw error;
    return { infos, errors: [error] };
  }
}

/** For the options of a query. */
export function optionalValidate(
  session: Session,
  validate: string | undefined,
): Pick<ResourceQueryOptions, "validate"> {
  const check = validate === undefined ? undefined : manifestValidator(session, validate);
  return check ? { validate: check } : {};
}
