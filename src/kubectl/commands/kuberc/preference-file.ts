// The file as it is written, with all that it holds (upstream: kubectl/pkg/kuberc/marshal.go).
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { isObject } from "#base/is-object.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { KubectlError } from "../../errors.ts";
import { type PreferencePlace, preferencePlace } from "../../kuberc/preference.ts";
import { manifestDocuments } from "../../resources/manifest-files.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";

export const newPreference = (): KubeObject => ({ apiVersion: "kubectl.config.k8s.io/v1beta1", kind: "Preference" });

export function placeFor(session: Session): PreferencePlace {
  const place = preferencePlace(session.io, session.globals.kuberc);
  if (!place) throw new KubectlError("KUBERC is disabled via KUBERC=off environment variable");
  return place;
}

/** Undefined if there is no such file. Throws KubectlError. */
export function readPreferenceFile(path: string): KubeObject | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new KubectlError(`error reading kuberc file: ${(cause as Error).message}`, { cause });
  }
  if (text.trim() === "") return newPreference();
  const [document] = manifestDocuments(text, path);
  if (!isObject(document)) throw new KubectlError("error parsing kuberc file: it holds no object");
  return document;
}

export function savePreferenceFile(session: Session, path: string, preference: KubeObject): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const { aliases = null, defaults = null } = preference;
  writeFileSync(path, printYaml({ ...preference, aliases, defaults }), { mode: 0o644 });
  session.print(`Updated ${path}`);
}
