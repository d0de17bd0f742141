// A certificate with its key in one file, as kubelets keep theirs: PREFIX-current.pem is a link to the newest, which is named by its time.
// Upstream: staging/src/k8s.io/client-go/util/certificate/certificate_store.go.
import { X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { type KeyPair, replaceFile } from "../certificates.ts";

/** How many of those that were replaced stay. */
const keptBefore = 2;

export class StoredPair {
  readonly #folder: string;
  readonly #prefix: string;
  readonly #clock: Clock;

  constructor(folder: string, prefix: string, clock: Clock) {
    this.#folder = folder;
    this.#prefix = prefix;
    this.#clock = clock;
  }

  /** The file that is always the newest. */
  get path(): string {
    return join(this.#folder, `${this.#prefix}-current.pem`);
  }

  /** Undefined if there is none, or if it has ended. */
  read(): KeyPair | undefined {
    if (!existsSync(this.path)) return undefined;
    const text = readFileSync(this.path, "utf8");
    const blocks = text.match(/-----BEGIN ([A-Z ]+)-----[\s\S]+?-----END \1-----\n?/g) ?? [];
    const cert = blocks.filter((block) => block.includes("BEGIN CERTIFICATE")).join("");
    const key = blocks.find((block) => block.includes("PRIVATE KEY"));
    if (cert === "" || key === undefined) return undefined;
    return lifeOf(cert).to > this.#clock.now() ? { cert, key } : undefined;
  }

  write({ cert, key }: KeyPair): void {
    makeFolder(this.#folder);
    const stamp = new Date(this.#clock.now()).toISOString().replaceAll(/[:.]/g, "-").replace(/Z$/, "");
    const file = `${this.#prefix}-${stamp}.pem`;
    replaceFile(join(this.#folder, file), `${cert.trimEnd()}\n${key.trimEnd()}\n`, 0o600);
    const link = `${this.path}.new`;
    rmSync(link, { force: true });
    symlinkSync(file, link);
    renameSync(link, this.path);
    this.#forgetOld(file);
  }

  #forgetOld(newest: string): void {
    const old = readdirSync(this.#folder)
      .filter((file) => file.startsWith(`${this.#prefix}-2`) && file.endsWith(".pem") && file !== newest)
      .toSorted();
    for (const file of old.slice(0, Math.max(0, old.length - keptBefore))) rmSync(join(this.#folder, file));
  }
}

/** From when until when a certificate is good, in milliseconds. */
export function lifeOf(pem: string): { readonly from: number; readonly to: number } {
  const { validFrom, validTo } = new X509Certificate(pem);
  return { from: Date.parse(validFrom), to: Date.parse(validTo) };
}
