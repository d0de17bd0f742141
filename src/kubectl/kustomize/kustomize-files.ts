// The files of a kustomization. Nothing outside of its folder is read but other kustomizations
// (upstream: kustomize/api/internal/loader).
import { readFileSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { KubectlError } from "../errors.ts";

export const fileNames = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

export class KustomizeFolder {
  readonly root: string;
  /** Those that lead here, so that none is read within itself. */
  readonly #above: readonly string[];

  private constructor(root: string, above: readonly string[]) {
    this.root = root;
    this.#above = above;
  }

  /** Throws KubectlError if there is no such folder. */
  static open(path: string, cwd: string): KustomizeFolder {
    if (isRemote(path)) throw remoteRefused(path);
    const full = resolve(cwd, path);
    const found = statSync(full, { throwIfNoEntry: false });
    if (!found)
      throw new KubectlError(
        `must build at directory: not a valid directory: evalsymlink failure on '${path}' : lstat ${full}: no such file or directory`,
      );
    if (!found.isDirectory()) throw new KubectlError(`must build at directory: '${path}': file is not directory`);
    return new KustomizeFolder(realpathSync(full), []);
  }

  /** A kustomization below, beside or above this one. */
  folder(path: string): KustomizeFolder {
    if (isRemote(path)) throw remoteRefused(path);
    if (isAbsolute(path)) throw new KubectlError(`new root '${path}' cannot be absolute`);
    const root = realpathSync(resolve(this.root, path));
    const trail = [this.root, ...this.#above];
    if (trail.some((one) => one === root || isInside(one, root)))
      throw new KubectlError(
        `cycle detected: candidate root '${root}' contains visited root '${trail.find((one) => one === root || isInside(one, root))}'`,
      );
    return new KustomizeFolder(root, trail);
  }

  pathOf(path: string): string {
    return resolve(this.root, path);
  }

  isFolder(path: string): boolean {
    return statSync(resolve(this.root, path), { throwIfNoEntry: false })?.isDirectory() === true;
  }

  /** Throws KubectlError. */
  read(path: string): Buffer {
    if (isRemote(path)) throw remoteRefused(path);
    const full = resolve(this.root, path);
    if (!statSync(full, { throwIfNoEntry: false }))
      throw new KubectlError(`evalsymlink failure on '${full}' : lstat ${full}: no such file or directory`);
    const real = realpathSync(full);
    if (!isInside(real, this.root))
      throw new KubectlError(`security; file '${full}' is not in or below '${this.root}'`);
    return readFileSync(real);
  }

  has(path: string): boolean {
    return statSync(resolve(this.root, path), { throwIfNoEntry: false }) !== undefined;
  }
}

const isInside = (path: string, root: string): boolean => {
  const way = relative(root, path);
  return way === "" || (!way.startsWith("..") && !isAbsolute(way));
};

const isRemote = (path: string): boolean => /^(https?|ssh|git|file):|^git@|^(git::)|^github\.com\//.test(path);

const remoteRefused = (path: string): KubectlError =>
  new KubectlError(
    `${path} is not on this machine: kustomizations are read from files only; fetch it first and name its folder`,
  );
