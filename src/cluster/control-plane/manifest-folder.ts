// The folder that the first node runs the control plane from. It is a person's as much as ours: what somebody has changed or removed there
// stays so, except that a new image takes the place of the one before.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "#base/log.ts";
import { parseJson } from "#schema/json.ts";
import { replaceFile } from "../certificates.ts";

export interface ManifestFolderOptions {
  readonly folder: string;
  /** Remembers what was written there last. */
  readonly noteFile: string;
  readonly log: Log;
}

export interface ControlPlaneFiles {
  /** The texts of the manifests, by name. */
  readonly texts: ReadonlyMap<string, string>;
  /** The references of the images in them, by the name of each image. */
  readonly images: Readonly<Record<string, string>>;
}

interface Note {
  readonly texts: Readonly<Record<string, string>>;
  readonly images: Readonly<Record<string, string>>;
}

export const manifestName = (name: string): string => `${name}.yaml`;

/** Returns the names of the manifests that are there afterwards. */
export function writeManifests(
  { folder, noteFile, log }: ManifestFolderOptions,
  { texts, images }: ControlPlaneFiles,
): readonly string[] {
  mkdirSync(folder, { recursive: true, mode: 0o750 });
  const note = readNote(noteFile);
  for (const [name, text] of texts) {
    const path = join(folder, manifestName(name));
    const before = note.texts[name];
    const present = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    const wanted =
      before === undefined || present === before ? text : present && withImages(present, note.images, images);
    if (wanted !== undefined && wanted !== present) writeManifest(folder, manifestName(name), wanted);
    if (before !== undefined && present !== before && withImages(before, note.images, images) !== text)
      log.warn("a manifest was changed by hand, so new settings are not in it", { path });
  }
  const written: Note = { texts: Object.fromEntries(texts), images };
  replaceFile(noteFile, `${JSON.stringify(written, undefined, 2)}\n`, 0o600);
  return [...texts.keys()].filter((name) => existsSync(join(folder, manifestName(name))));
}

function readNote(file: string): Note {
  if (!existsSync(file)) return { texts: {}, images: {} };
  return parseJson(readFileSync(file, "utf8")).value as Note; // we wrote it
}

const withImages = (text: string, before: Note["images"], now: Note["images"]): string =>
  Object.entries(before).reduce((all, [name, image]) => all.replaceAll(image, now[name] ?? image), text);

/** As a whole or not at all. A kubelet leaves files alone that begin with a dot. */
function writeManifest(folder: string, file: string, text: string): void {
  const draft = join(folder, `.${file}`);
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, join(folder, file));
}
