// An archive of images as we make and keep them: an OCI layout whose index names each image and leads to one manifest.
import { type FileHandle, open } from "node:fs/promises";
import { explain } from "#base/errors.ts";
import { decodeUtf8, parseJson } from "#schema/json.ts";
import { blobName, type NamedManifest } from "./image.ts";
import { readExactly, type TarPlace, tarIndex } from "./tar-index.ts";

const mostJsonBytes = 8 << 20;
const chunkBytes = 1 << 18;
const nameAnnotation = "io.containerd.image.name";

export class ImageArchive implements AsyncDisposable {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #places: ReadonlyMap<string, TarPlace>;

  private constructor(path: string, file: FileHandle, places: ReadonlyMap<string, TarPlace>) {
    this.path = path;
    this.#file = file;
    this.#places = places;
  }

  /** Any tar archive. What is in it stays as it is now, also if another takes the place of the file. */
  static async open(path: string): Promise<ImageArchive> {
    const file = await open(path);
    try {
      return new ImageArchive(path, file, await tarIndex(file));
    } catch (error) {
      await file.close();
      throw new Error(`${path} cannot be read as an archive of images: ${explain(error)}`);
    }
  }

  has(name: string): boolean {
    return this.place(name) !== undefined;
  }

  /** Follows links; undefined if there is no such file. */
  place(name: string): TarPlace | undefined {
    let place = this.#places.get(name);
    for (let links = 0; place?.link !== undefined && links < 10; links++) place = this.#places.get(place.link);
    return place?.link === undefined ? place : undefined;
  }

  /** A JSON file of it. Throws an error that names it. */
  async json(name: string): Promise<unknown> {
    const bytes = await this.bytes(name);
    try {
      return parseJson(decodeUtf8(bytes)).value;
    } catch (error) {
      throw new Error(`${name} in ${this.path} is no JSON: ${explain(error)}`);
    }
  }

  async bytes(name: string): Promise<Buffer> {
    const place = this.place(name);
    if (!place) throw new Error(`${this.path} has no ${name}`);
    if (place.size > mostJsonBytes) throw new Error(`${name} in ${this.path} has ${place.size} bytes, too many`);
    const content = Buffer.alloc(place.size);
    await readExactly(this.#file, content, place.offset);
    return content;
  }

  /** Of any size, in parts. */
  async *stream({ offset, size }: TarPlace): AsyncGenerator<Buffer> {
    for (let done = 0; done < size; done += chunkBytes) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, size - done));
      await readExactly(this.#file, chunk, offset + done);
      yield chunk;
    }
  }

  /** The images it names, if it is one of ours. */
  async images(): Promise<readonly NamedManifest[]> {
    const { manifests } = (await this.json("index.json")) as {
      readonly manifests: readonly (NamedManifest & { readonly annotations: Readonly<Record<string, string>> })[];
    };
    return manifests.map(({ mediaType, digest, size, annotations }) => ({
      mediaType,
      digest,
      size,
      reference: annotations[nameAnnotation] ?? "",
    }));
  }

  blob(digest: string): TarPlace | undefined {
    return this.place(blobName(digest));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
