// What a server serves, in the form that kubectls keep on disk (APIGroupList and APIResourceList of meta/v1).

export interface ServerResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  /** Only where they differ from those of the list around. */
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export interface ServerResourceList {
  readonly groupVersion: string;
  readonly resources: readonly ServerResource[];
}

interface GroupVersionName {
  readonly groupVersion: string;
  readonly version: string;
}

export interface ApiGroup {
  readonly name: string;
  readonly versions: readonly GroupVersionName[];
  readonly preferredVersion: GroupVersionName;
}

/** `v1` has the group "". */
export function splitGroupVersion(groupVersion: string): { readonly group: string; readonly version: string } {
  const at = groupVersion.indexOf("/");
  return at < 0
    ? { group: "", version: groupVersion }
    : { group: groupVersion.slice(0, at), version: groupVersion.slice(at + 1) };
}

export const joinGroupVersion = (group: string, version: string): string =>
  group === "" ? version : `${group}/${version}`;
