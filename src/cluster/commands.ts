import type { Command } from "./command.ts";
import { version } from "./commands/version.ts";

export const commands: readonly Command[] = [version];
