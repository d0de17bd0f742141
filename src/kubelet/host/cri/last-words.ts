// The termination message of a container: what it wrote to its terminationMessagePath, or the end of its log.
import { constants, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode } from "#base/errors.ts";
import { criAnnotations, criLabels } from "../../runtime/cri-config.ts";
import { makeFolder, writeAs } from "../volumes/files.ts";

const messageBytes = 4096;
const fallbackBytes = 2048;
const fallbackLines = 80;

const pathOf = (podsDirectory: string, uid: string, container: string, attempt: number): string =>
  `${podsDirectory}/${uid}/containers/${container}/${attempt}`;

/** An empty file for the container's message, which any user may write. */
export async function messageFile(
  podsDirectory: string,
  uid: string,
  container: string,
  attempt: number,
): Promise<string> {
  const path = pathOf(podsDirectory, uid, container, attempt);
  await makeFolder(dirname(path), 0o750);
  await rm(path, { force: true });
  await writeAs(path, "", 0o666);
  return path;
}

export interface EndedContainer {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly metadata: { readonly name: string; readonly attempt: number } | undefined;
  readonly exitCode: number;
  readonly message: string;
  readonly logPath: string;
}

export async function lastWords(podsDirectory: string, status: EndedContainer): Promise<string> {
  const { name = "", attempt = 0 } = status.metadata ?? {};
  const said = await beginningOf(pathOf(podsDirectory, status.labels[criLabels.podUid] ?? "", name, attempt));
  if (said !== "") return said;
  const isFallback = status.annotations[criAnnotations.messagePolicy] === "FallbackToLogsOnError";
  return isFallback && status.exitCode !== 0 ? endOfLog(status.logPath) : status.message;
}

const beginningOf = (path: string): Promise<string> => partOf(path, () => 0, messageBytes);

/** The last lines of a log in CRI's format, without times and tags; each is longer there by no more than a few dozen bytes. */
async function endOfLog(path: string): Promise<string> {
  const bytes = fallbackBytes + fallbackLines * 64;
  const text = path === "" ? "" : await partOf(path, (size) => Math.max(0, size - bytes), bytes);
  const lines = text
    .trimEnd()
    .split("\n")
    .slice(-fallbackLines)
    .map((line) => line.split(" ").slice(3).join(" "));
  return lines.join("\n").slice(-fallbackBytes);
}

/** Nothing if there is no such file: it was never made, or its pod was cleared away. */
async function partOf(path: string, from: (size: number) => number, length: number): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from(size));
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "";
    throw error;
  }
}
