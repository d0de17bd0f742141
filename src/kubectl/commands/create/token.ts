// Upstream: kubectl/pkg/cmd/create/create_token.go.
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { goJson } from "../../go/json.ts";
import { outputPrinter, printFlags } from "../../printers/output.ts";
import { resourcePath, stringIn } from "../../resources/resource-info.ts";
import { printObject } from "../../write-options.ts";
import { oneName } from "./one-name.ts";

const boundKinds = ["Node", "Pod", "Secret"];
const accounts = { group: "", version: "v1", resource: "serviceaccounts", isNamespaced: true };

export const createToken = command({
  use: "token SERVICE_ACCOUNT_NAME",
  long: "Ask the server for a token that acts as a service account, and print it.",
  examples: `  # A token of the service account robot
  kubectl create token robot

  # One that lives for ten minutes, for another audience
  kubectl create token robot --duration 10m --audience https://example.com

  # One that ends with a secret
  kubectl create token robot --bound-object-kind Secret --bound-object-name robot-key`,
  flags: {
    ...printFlags,
    audience: { type: "stringArray", help: "Who takes the token; the API server unless given." },
    "bound-object-kind": { type: "string", help: "Kind of the object that the token ends with: Node, Pod or Secret." },
    "bound-object-name": { type: "string", help: "Name of that object." },
    "bound-object-uid": { type: "string", help: "UID of that object; of the one that exists unless given." },
    duration: { type: "duration", help: "How long it should live; 0 lets the server choose." },
  },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const printer = outputPrinter(flags, { operation: "created", cwd: session.io.cwd });
    const body = goJson({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: {},
      spec: tokenSpec(flags),
      status: { expirationTimestamp: null, token: "" },
    });
    const path = resourcePath(accounts, await session.namespace(), name, "token");
    const client = await session.client();
    const answer = await client.json({ method: "POST", path, body, contentType: "application/json" }).catch((cause) => {
      throw new KubectlError(`failed to create token: ${cause instanceof Error ? cause.message : cause}`, { cause });
    });
    const token = isObject(answer.status) ? stringIn(answer.status.token) : "";
    if (token === "") throw new KubectlError("failed to create token: no token in server response");
    if (flags.output !== "" || flags.template !== "") return printObject(session, printer, answer);
    session.io.stdout.write(session.io.stdout.isTTY ? `${token}\n` : token);
  },
});

interface TokenFlags {
  readonly audience: readonly string[];
  readonly "bound-object-kind": string;
  readonly "bound-object-name": string;
  readonly "bound-object-uid": string;
  readonly duration: bigint;
}

/** Throws KubectlError for flags that make no sense. */
function tokenSpec(flags: TokenFlags): object {
  const { audience, duration } = flags;
  const [kind, name, uid] = [flags["bound-object-kind"], flags["bound-object-name"], flags["bound-object-uid"]];
  if (duration < 0n) throw new KubectlError("--duration must be greater than or equal to 0");
  if (duration % 1_000_000_000n !== 0n)
    throw new KubectlError("--duration cannot be expressed in units less than seconds");
  if (audience.includes("")) throw new KubectlError("--audience must not be an empty string");
  if (kind === "" && name !== "")
    throw new KubectlError("--bound-object-name can only be set if --bound-object-kind is provided");
  if (kind === "" && uid !== "")
    throw new KubectlError("--bound-object-uid can only be set if --bound-object-kind is provided");
  if (kind !== "" && !boundKinds.includes(kind))
    throw new KubectlError(`supported --bound-object-kind values are ${boundKinds.join(", ")}`);
  if (kind !== "" && name === "")
    throw new KubectlError("--bound-object-name is required if --bound-object-kind is provided");
  return {
    audiences: audience.length === 0 ? null : audience,
    boundObjectRef: kind === "" ? null : { apiVersion: "v1", kind, name, ...(uid !== "" && { uid }) },
    expirationSeconds: duration === 0n ? null : Number(duration / 1_000_000_000n),
  };
}
