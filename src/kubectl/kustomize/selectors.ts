// Which objects of a kustomization a patch or a replacement is for (upstream: kustomize/api/types/selector.go).
import { isObject } from "#base/is-object.ts";
import { type Labels, labelMatcher, parseSelector, SelectorError } from "#schema/selector.ts";
import { KubectlError } from "../errors.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KustomizeResource } from "./kustomize-resource.ts";

/** Group, version, kind, names and namespaces are regular expressions that must match all of it. */
export function matcherOf(target: Readonly<Record<string, unknown>>): (resource: KustomizeResource) => boolean {
  const test = (key: string) => {
    const text = stringIn(target[key]);
    if (text === "") return () => true;
    const pattern = expression(text, key);
    return (value: string) => pattern.test(value);
  };
  const [group, version, kind, name, namespace] = ["group", "version", "kind", "name", "namespace"].map(test);
  const labels = labelTest(stringIn(target.labelSelector));
  const annotations = labelTest(stringIn(target.annotationSelector));
  return (resource) => {
    const metadata = metadataOf(resource.object);
    return (
      group?.(resource.group) === true &&
      version?.(resource.version) === true &&
      kind?.(resource.kind) === true &&
      resource.ids.some((id) => name?.(id.name) === true) &&
      resource.ids.some(
        (id) => namespace?.(id.namespace || "default") === true || namespace?.(id.namespace) === true,
      ) &&
      labels(metadata.labels) &&
      annotations(metadata.annotations)
    );
  };
}

function expression(text: string, key: string): RegExp {
  try {
    return new RegExp(`^(?:${text})$`);
  } catch (cause) {
    throw new KubectlError(`${key} of a target is no regular expression: ${text}`, { cause });
  }
}

function labelTest(selector: string): (labels: unknown) => boolean {
  if (selector === "") return () => true;
  try {
    const matches = labelMatcher(parseSelector(selector));
    return (labels) => matches(isObject(labels) ? (labels as Labels) : {});
  } catch (cause) {
    if (!(cause instanceof SelectorError)) throw cause;
    throw new KubectlError(cause.message, { cause });
  }
}
