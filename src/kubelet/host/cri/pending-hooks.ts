// The hooks after starts that have not run to their end: a file for each, made before its container is. A kubelet that finds a container
// running with its file there knows that the one before was killed in between.
import { access, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode } from "#base/errors.ts";
import { makeFolder, writeAs } from "../volumes/files.ts";

export interface HookKey {
  readonly podUid: string;
  readonly container: string;
  readonly attempt: number;
}

export class PendingHooks {
  readonly #podsDirectory: string;
  /** By container id; undefined for one whose hook is not due, and never will be again. */
  readonly #files = new Map<string, string | undefined>();

  constructor(podsDirectory: string) {
    this.#podsDirectory = podsDirectory;
  }

  /** A container is about to be made whose start is followed by a hook. */
  async expect(place: HookKey): Promise<void> {
    const file = this.#fileOf(place);
    await makeFolder(dirname(file), 0o750);
    await writeAs(file, "", 0o600);
  }

  /** It was made, with that id. */
  created(id: string, place: HookKey): void {
    this.#files.set(id, this.#fileOf(place));
  }

  async isDue(id: string, place: HookKey): Promise<boolean> {
    if (this.#files.has(id)) return this.#files.get(id) !== undefined;
    const file = this.#fileOf(place);
    const isThere = await access(file).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, "ENOENT", "ENOTDIR")) return false;
        throw error;
      },
    );
    this.#files.set(id, isThere ? file : undefined);
    return isThere;
  }

  async done(id: string): Promise<void> {
    const file = this.#files.get(id);
    if (file !== undefined) await rm(file, { force: true });
    this.#files.set(id, undefined);
  }

  forget(id: string): void {
    this.#files.delete(id);
  }

  #fileOf({ podUid, container, attempt }: HookKey): string {
    return `${this.#podsDirectory}/${podUid}/containers/${container}/${attempt}.hook`;
  }
}
