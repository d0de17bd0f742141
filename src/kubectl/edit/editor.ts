// Lets a person edit a text in the program of their choice (upstream: kubectl/pkg/cmd/util/editor/editor.go).
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasCode } from "#base/errors.ts";
import { KubectlError } from "../errors.ts";
import type { Io } from "../io.ts";

export interface EditedText {
  readonly text: string;
  /** The file it was edited in, which is left to the caller. */
  readonly file: string;
}

/** `KUBE_EDITOR`, else `EDITOR`, else vi; with quotes it is a line for the shell. */
export function editorCommand(env: Io["env"]): readonly string[] {
  const editor = env.KUBE_EDITOR || env.EDITOR || "vi";
  if (!editor.includes(" ")) return [editor];
  if (!/["'\\]/.test(editor)) return editor.split(" ");
  return [env.SHELL || "/bin/bash", "-c", editor];
}

/** Rejects with KubectlError if the editor cannot be started or says that it failed. */
export async function editText(io: Io, text: string, extension: string): Promise<EditedText> {
  const file = temporaryFile(io, text, extension);
  const command = editorCommand(io.env);
  const isShell = command[1] === "-c";
  const args = isShell
    ? [...command.slice(1, -1), `${command.at(-1)} ${JSON.stringify(file)}`]
    : [...command.slice(1), file];
  const shown = JSON.stringify(command.join(" "));
  await new Promise<void>((done, fail) => {
    const child = spawn(command[0] ?? "vi", args, { stdio: "inherit", env: io.env, cwd: io.cwd });
    child.on("error", (cause) =>
      fail(
        new KubectlError(
          hasCode(cause, "ENOENT")
            ? `unable to launch the editor ${shown}`
            : `there was a problem with the editor ${shown}`,
          { cause },
        ),
      ),
    );
    child.on("close", (code) =>
      code === 0 ? done() : fail(new EditorFailure(file, `there was a problem with the editor ${shown}`)),
    );
  });
  return { text: readFileSync(file, "utf8"), file };
}

/** The editor said that it failed; the file may hold what was typed. */
export class EditorFailure extends KubectlError {
  readonly file: string;

  constructor(file: string, message: string) {
    super(message);
    this.file = file;
  }
}

function temporaryFile({ env, random }: Io, text: string, extension: string): string {
  for (;;) {
    const path = join(env.TMPDIR || tmpdir(), `kubectl-edit-${random.below(1e10)}${extension}`);
    try {
      writeFileSync(path, text, { flag: "wx", mode: 0o600 });
      return path;
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    }
  }
}
