// `kubectl create --edit`: each object is edited before it is created (upstream: kubectl/pkg/cmd/create/create.go, RunEditOnCreate).
import { editObjects } from "../../edit/edit-loop.ts";
import { type OutputRequest, outputPrinter } from "../../printers/output.ts";
import { createInfo } from "../../resources/resource-info.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { printObject, type WriteSettings } from "../../write-options.ts";

interface EditBeforeRequest extends OutputRequest {
  readonly filename: readonly string[];
  readonly recursive: boolean;
  readonly kustomize: string;
  readonly "windows-line-endings": boolean;
}

/** `finished` adds to the object what flags ask for. */
export async function createEdited(
  session: Session,
  flags: EditBeforeRequest,
  { options }: WriteSettings,
  finished: (object: KubeObject) => KubeObject,
): Promise<void> {
  const query = await ResourceQuery.of(session, {
    filenames: flags.filename,
    isRecursive: flags.recursive,
    kustomize: flags.kustomize,
    continueOnError: true,
    flatten: true,
  });
  await query.visit((info) =>
    editObjects(session, [info], {
      purpose: "object",
      format: flags.output,
      subresource: "",
      usesWindowsLines: flags["windows-line-endings"],
      retries: false,
      save: async (edited) => {
        const placed = { ...edited, object: finished(edited.object ?? {}) };
        const created = await createInfo(await session.client(), placed, options);
        printObject(session, outputPrinter(flags, { operation: "created", cwd: session.io.cwd }), created);
      },
    }),
  );
}
