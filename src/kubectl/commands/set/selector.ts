// Upstream: kubectl/pkg/cmd/set/set_selector.go.
import { parseSelector, SelectorError, type SelectorStruct, selectorStructOf } from "#schema/selector.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { metadataOf } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import { recordFlag } from "../../write-options.ts";
import { patchOne, setFlags, setTargets } from "./change.ts";

export const setSelector = command({
  use: "selector (-f FILENAME | TYPE NAME) EXPRESSIONS [--resource-version=version]",
  long: "Change which pods a service sends to. The new selector takes the place of the old one.",
  examples: `  # A service for the pods of another team
  kubectl set selector service web app=web,team=blue`,
  flags: {
    ...setFlags,
    ...recordFlag,
    "resource-version": { type: "string", help: "Only if the object is at this version." },
  },
  run: async (session, args, flags, invocation) => {
    const text = args.at(-1);
    if (text === undefined) throw new KubectlError("one selector is required");
    const selector = selectorIn(text);
    const version = flags["resource-version"];
    for (const info of await setTargets(session, args.slice(0, -1), flags)) {
      const before = info.object ?? {};
      const after = withSelector(before, selector);
      if (version === "") await patchOne(session, info, flags, { before, after, done: "selector updated" }, invocation);
      else {
        // The version must stand in the patch, so that the server compares it.
        const { resourceVersion: _, ...metadata } = metadataOf(before);
        const versioned = { ...after, metadata: { ...metadata, resourceVersion: version } };
        const states = { before: { ...before, metadata }, after: versioned, done: "selector updated" };
        await patchOne(session, info, flags, states, invocation);
      }
    }
  },
});

function selectorIn(text: string): SelectorStruct {
  try {
    return selectorStructOf(parseSelector(text));
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new KubectlError(`couldn't parse the selector string ${JSON.stringify(text)}: ${error.message}`, {
      cause: error,
    });
  }
}

function withSelector(object: KubeObject, { matchLabels = {}, matchExpressions = [] }: SelectorStruct): KubeObject {
  if (object.apiVersion !== "v1" || object.kind !== "Service")
    throw new KubectlError("setting a selector is only supported for Services");
  if (matchExpressions.length > 0) {
    const texts = matchExpressions.map(
      ({ key, operator, values = [] }) => `{${key} ${operator} [${values.join(" ")}]}`,
    );
    throw new KubectlError(`match expression [${texts.join(" ")}] not supported on this object`);
  }
  return { ...object, spec: { ...(object.spec as object | undefined), selector: matchLabels } };
}
