// Upstream: kubectl/pkg/cmd/completion/completion.go.
import { command } from "../command.ts";
import { completionScripts } from "../completion/scripts.ts";
import { usageError } from "../errors.ts";

export const completion = command({
  use: "completion SHELL",
  long: "Print what makes a shell complete command lines of kubectl, with names of the server: bash, zsh, fish or powershell.",
  examples: `# For this bash, and for those to come
source <(kubectl completion bash)
echo 'source <(kubectl completion bash)' >> ~/.bashrc

# For zsh
kubectl completion zsh > "\${fpath[1]}/_kubectl"

# For fish
kubectl completion fish > ~/.config/fish/completions/kubectl.fish

# For PowerShell
kubectl completion powershell | Out-String | Invoke-Expression`,
  async run(session, args, _flags, { commandPath }) {
    const [shell, ...more] = args;
    if (shell === undefined) throw usageError("Shell not specified.", commandPath);
    if (more.length > 0) throw usageError("Too many arguments. Expected only the shell type.", commandPath);
    const script = Object.hasOwn(completionScripts, shell) ? completionScripts[shell] : undefined;
    if (script === undefined) throw usageError(`Unsupported shell type ${JSON.stringify(shell)}.`, commandPath);
    session.io.stdout.write(script);
  },
});
