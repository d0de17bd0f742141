// The file a person edits: comments that say what it is and what was wrong with it, and objects
// (upstream: kubectl/pkg/cmd/util/editor/editoptions.go, kubectl/pkg/cmd/util/helpers.go).
import { parseYaml } from "#wire/yaml/read.ts";
import { printYaml } from "#wire/yaml/write.ts";

/** Why the file is shown again. */
export interface EditReason {
  readonly head: string;
  readonly details: readonly string[];
}

export type EditPurpose = "object" | "last-applied";

const openings: Readonly<Record<EditPurpose, string>> = {
  object: `# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
`,
  "last-applied": `# Please edit the 'last-applied-configuration' annotations below.
# Lines beginning with a '#' will be ignored, and an empty file will abort the edit.
#
`,
};

export const headerText = (purpose: EditPurpose, reasons: readonly EditReason[]): string =>
  openings[purpose] +
  reasons
    .map(
      ({ head, details }) =>
        `# ${commented(head)}${details.length > 0 ? ":" : ""}\n${details.map((one) => `# * ${commented(one)}\n`).join("")}#\n`,
    )
    .join("");

/** Every line of a comment is one. */
const commented = (text: string): string => text.replace(/\n(?=[^#])/g, "\n# ");

/** Without lines that are comments. */
export const withoutComments = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !/^\s*#(?!!)/.test(line))
    .join("\n");

/** The same for two texts that mean the same; what is no YAML means what it says. */
export function meaningOf(text: string): string {
  try {
    return printYaml(parseYaml(text).exactValue());
  } catch {
    return withoutComments(text);
  }
}

/** Whether anything but comments is left. */
export const hasContent = (text: string): boolean => text.split("\n").some((line) => /^\s*[^#\s]/.test(line));
