// What a command of kubectl is. Flags are data: the parser, the help text, completion and the type of the values follow from them.
import type { FlagDeclarations, ParsedArguments, ParsedFlags } from "./flags.ts";
import type { Session } from "./session.ts";

export interface Invocation<F extends FlagDeclarations> extends ParsedArguments<F> {
  /** As it is typed: `kubectl create configmap`. */
  readonly commandPath: string;
}

/** What is known of a command without loading it. */
export interface CommandSummary {
  readonly name: string;
  /** One line, without a full stop. */
  readonly short: string;
  /** Other names of the same command. */
  readonly aliases?: readonly string[];
  /** The heading it stands under in the list of all commands; those without one are listed last. */
  readonly group?: string;
  readonly isHidden?: boolean;
}

export interface KubectlCommandEntry extends CommandSummary {
  load(): Promise<AnyKubectlCommand>;
}

export interface KubectlCommand<F extends FlagDeclarations = FlagDeclarations> {
  /** The shape of the command line, beginning with the name of the command. */
  readonly use: string;
  readonly long?: string;
  readonly examples?: string;
  readonly flags?: F;
  /** Without `run` the command only has subcommands, and alone it shows its help. */
  readonly subcommands?: readonly KubectlCommandEntry[];
  /** The code to end with for a mistake in a flag; 1 unless given. */
  readonly flagErrorCode?: number;
  /** Takes flags of commands that it does not know itself: everything after the name is an argument. */
  readonly takesAnyFlag?: boolean;
  /** Throws KubectlError, ApiError, ExitError…; a number is the code to end with. */
  run?(session: Session, args: readonly string[], flags: ParsedFlags<F>, invocation: Invocation<F>): Promise<unknown>;
  /** What could stand at the place of the last word, of which this is typed already. */
  complete?(session: Session, args: readonly string[], typed: string): Promise<readonly string[]>;
}

// biome-ignore lint/suspicious/noExplicitAny: a list holds commands of all sorts of flags
export type AnyKubectlCommand = KubectlCommand<any>;

export const command = <const F extends FlagDeclarations>(declared: KubectlCommand<F>): KubectlCommand<F> => declared;
