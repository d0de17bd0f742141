import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "#base/host/run-program.ts";

const aptGet = "/usr/bin/apt-get";
/** Nobody waits for a server that is not there: this is done in the background, and may fail. */
const patience = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::https::Timeout=20"];

/**
 * Unpacks Debian packages into a folder, with those they need that are not installed here; nothing is installed. What is in the
 * folder already stays. Rejects where there is no apt, or where it cannot fetch them.
 */
export async function fetchPackages(packages: readonly string[], folder: string, signal: AbortSignal): Promise<void> {
  if (existsSync(folder)) return;
  if (!existsSync(aptGet)) throw new Error("this system has no apt to fetch it with");
  mkdirSync(join(folder, ".."), { recursive: true, mode: 0o700 });
  const work = mkdtempSync(`${folder}.`);
  try {
    const options = { signal, cwd: work, env: { LC_ALL: "C.UTF-8" } };
    const names = await neededPackages(packages, signal);
    await runProgram([aptGet, "-qq", ...patience, "download", ...names], options);
    const root = join(work, "root");
    mkdirSync(root);
    for (const file of readdirSync(work).filter((name) => name.endsWith(".deb")))
      await runProgram(["dpkg-deb", "--extract", file, root], options);
    renameSync(root, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // else another has done the same meanwhile
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Which would be fetched if these were installed. The lists of packages are fetched if they do not know these. */
async function neededPackages(packages: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  const ask = () =>
    runProgram(
      [aptGet, "-qq", "--print-uris", "--no-install-recommends", "-o", "Debug::NoLocking=1", "install", ...packages],
      { signal, env: { LC_ALL: "C.UTF-8" } },
    );
  let answer: string;
  try {
    answer = await ask();
  } catch (error) {
    if (process.getuid?.() !== 0) throw error;
    await runProgram([aptGet, "-qq", ...patience, "update"], { signal });
    answer = await ask();
  }
  return packagesIn(answer);
}

/** From lines such as `'http://…/nginx_1.22.1-9_amd64.deb' nginx_1.22.1-9_amd64.deb 531468 SHA256:…`. */
export const packagesIn = (uris: string): readonly string[] =>
  uris.split("\n").flatMap((line) => /^'[^']+' ([^_ ]+)_/.exec(line)?.[1] ?? []);
