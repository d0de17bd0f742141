// Rules in few words: `can(read, "pods services")`.
import type { Rule } from "../rules.ts";

export const read = "get list watch";
export const write = "create delete deletecollection patch update";

/** Verbs on resources, of the core group by default, of those names only if they are given. Groups are separated by commas, all else by blanks. */
export const can = (verbs: string, resources: string, groups = "", names = ""): Rule => ({
  apiGroups: groups.split(","),
  resources: resources.split(" "),
  ...(names !== "" && { resourceNames: names.split(" ") }),
  verbs: verbs.split(" ").sort(),
});

export const paths = (verbs: string, urls: string): Rule => ({
  nonResourceURLs: urls.split(" "),
  verbs: verbs.split(" "),
});

export const reportEvents = can("create patch update", "events", ",events.k8s.io");
