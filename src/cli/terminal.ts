/** Where text for a person goes; a process has two, its standard output and its standard error. */
export interface Terminal {
  /** Whether a person is looking: what moves or has colours is for people only. */
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Goes to the beginning of the line and removes what is on it. */
export const clearLine = "\r\x1b[K";

/** Whether to write in colours, by the convention of https://no-color.org. */
export const hasColours = (terminal: Terminal, environment: Readonly<Record<string, string | undefined>>): boolean =>
  terminal.isTTY === true && !environment.NO_COLOR;
