// What a container wrote, line by line, and where it comes from.
import type { LogStream } from "#wire/cri-log.ts";

/** One run of a container. */
export interface LogSource {
  readonly node: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  /** Counts the runs of the container from 0. */
  readonly attempt: number;
  /** Of the pod; none if nobody knew it any more. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface ContainerLine {
  readonly source: LogSource;
  /** RFC 3339 with nine decimals, as the runtime noted it. */
  readonly time: string;
  readonly stream: LogStream;
  readonly text: string;
  /** Whether the line was longer than lines may be, and its end is missing. */
  readonly isCut: boolean;
  /** Where it ends in the log of its container, in bytes over all files of that log: grows from line to line. */
  readonly position: number;
}

/** About how many bytes of memory a line takes. */
export const sizeOfText = (text: string): number => text.length * 2 + lineOverhead;
export const sizeOfLine = ({ text }: ContainerLine): number => sizeOfText(text);
const lineOverhead = 200;
