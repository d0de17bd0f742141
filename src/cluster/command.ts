/** One word after `knarr`. Adding one is a file in commands/ and a line in commands.ts. */
export interface Command {
  readonly name: string;
  /** The shape of the command line, beginning with the name. */
  readonly use: string;
  /** One line, without a full stop. */
  readonly short: string;
  readonly help?: string;
  /** Throws UsageError for what the person got wrong, anything else for what went wrong. */
  run(args: readonly string[]): Promise<void>;
}
