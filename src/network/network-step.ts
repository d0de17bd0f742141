// What changes the networks of a machine: programs to run, which say what is there already.

/** One program to run. `unless` says of each line of an error that what was to be made is there already. */
export interface NetworkStep {
  readonly command: readonly string[];
  readonly input?: string;
  readonly unless?: RegExp;
}

/** The steps of a stage do not depend on each other. */
export type Stages = readonly (readonly NetworkStep[])[];

/** Many commands for one program: starting it for each would take most of the time. */
export const batch = (where: readonly string[], unless: RegExp | undefined, lines: readonly string[]): NetworkStep => ({
  command: ["ip", ...where, "-force", "-batch", "-"],
  input: `${lines.join("\n")}\n`,
  ...(unless && { unless }),
});
