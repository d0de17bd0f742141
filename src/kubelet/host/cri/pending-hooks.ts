// postStart hooks that have not completed: a file for each, made before its container is. A kubelet that finds a container
// running and its file present knows that the kubelet before it was killed before the hook had completed.
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

  /** To be called before a container with a postStart hook is created. */
  async expect(place: HookKey): Promise<void> {
    const file = this.#fileOf(place);
    await makeFolder(dirname(file), 0o750);
    await writeAs(file, "", 0o600);
  }

  /** The container was created, with that id. */
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
