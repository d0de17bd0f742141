import type { Command } from "./command.ts";
import { apiserver } from "./commands/apiserver.ts";
import { store } from "./commands/store.ts";
import { version } from "./commands/version.ts";

export const commands: readonly Command[] = [apiserver, store, version];
