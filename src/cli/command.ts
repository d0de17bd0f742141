/** What one word after the name of the program does. */
export interface Command {
  /** The shape of the command line, beginning with the word. */
  readonly use: string;
  readonly help?: string;
  /**
   * Throws UsageError for what the person got wrong, anything else for what went wrong. A number is an exit code with a meaning of
   * the command's own, from 3 on.
   */
  run(args: readonly string[]): Promise<unknown>;
}

/** What is known of a command before it is loaded: a small command must not pay for what a large one loads. */
export interface CommandEntry {
  readonly name: string;
  /** One line, without a full stop. */
  readonly short: string;
  /** Of use to other commands only. */
  readonly isHidden?: boolean;
  /** A program of its own: it sees all its arguments, `--help` as well. */
  readonly isProgram?: boolean;
  load(): Promise<Command>;
}
