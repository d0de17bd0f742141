/** A document of YAML as the text of the same JSON. */
export interface YamlText {
  readonly json: string;
  /** Keys that stand twice in one mapping, in upstream's words. */
  readonly duplicates: readonly string[];
}

/** Reads YAML elsewhere than in this thread. Rejects with DecodeError, and with ApiError 413 if there are more values than that. */
export type YamlReader = (bytes: Uint8Array, mostValues: number) => Promise<YamlText>;
