import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import type { Session } from "../../session.ts";
import { type ConfigList, defaultFile, entryIn, startingConfig, writeEntry } from "./config-files.ts";

async function removeEntry(session: Session, list: ConfigList, word: string, name: string): Promise<void> {
  const config = await startingConfig(session);
  const file = defaultFile(session);
  if (entryIn(config, list, name) === undefined)
    throw new KubectlError(`cannot delete ${word} ${name}, not in ${file}`);
  if (list === "contexts" && config["current-context"] === name)
    session.printError(
      'warning: this removed your active context, use "kubectl config use-context" to select a different one',
    );
  await writeEntry(session, list, name, undefined);
  session.print(`deleted ${word} ${name} from ${file}`);
}

const remover = (list: ConfigList, word: string) =>
  command({
    use: `delete-${word} NAME`,
    async run(session, args) {
      const [name, ...more] = args;
      if (name === undefined || more.length > 0) throw new KubectlError(`name the ${word} to delete`);
      await removeEntry(session, list, word, name);
    },
  });

export const deleteContext = remover("contexts", "context");
export const deleteCluster = remover("clusters", "cluster");
export const deleteUser = remover("users", "user");
