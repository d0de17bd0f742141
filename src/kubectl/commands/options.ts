import { command } from "../command.ts";
import { globalFlags } from "../global-flags.ts";
import { optionLines } from "../help.ts";

export const options = command({
  use: "options",
  async run(session) {
    session.print("The following options can be passed to any command:\n");
    session.print(optionLines(globalFlags).join("\n").trimEnd());
  },
});
