// Upstream: kubectl/pkg/cmd/auth/whoami.go.
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { outputPrinter, printFlags } from "../../printers/output.ts";
import { stringIn } from "../../resources/resource-info.ts";
import { tableText } from "../../tab-writer.ts";

export const whoami = command({
  use: "whoami",
  long: "Tell who the server takes one for: name, groups and extra attributes.",
  examples: "# Who am I?\nkubectl auth whoami",
  flags: printFlags,
  async run(session, _args, flags) {
    const review = {
      kind: "SelfSubjectReview",
      apiVersion: "authentication.k8s.io/v1",
      metadata: {},
      status: { userInfo: {} },
    };
    const answer = await (await session.client()).json({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: JSON.stringify(review),
      contentType: "application/json",
    });
    if (flags.output === "json") {
      session.print(JSON.stringify(typedOrder(answer), undefined, 4));
      return;
    }
    if (flags.output !== "" || flags.template !== "") {
      const printer = outputPrinter(flags, { operation: "", cwd: session.io.cwd });
      printer.print(answer, (data) => session.io.stdout.write(data));
      return;
    }
    const user = isObject(answer.status) && isObject(answer.status.userInfo) ? answer.status.userInfo : {};
    const { username, uid, groups, extra } = user;
    const list = (value: unknown) => `[${(Array.isArray(value) ? value : []).join(" ")}]`;
    const rows = [
      ["ATTRIBUTE", "VALUE"],
      ...(username === undefined ? [] : [["Username", stringIn(username)]]),
      ...(uid === undefined ? [] : [["UID", stringIn(uid)]]),
      ...(Array.isArray(groups) && groups.length > 0 ? [["Groups", list(groups)]] : []),
      ...Object.entries(isObject(extra) ? extra : {})
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => [`Extra: ${name}`, list(value)]),
    ];
    session.io.stdout.write(tableText(rows));
  },
});

/** Upstream prints its types, whose fields have this order. */
function typedOrder({ kind, apiVersion, metadata, status }: Readonly<Record<string, unknown>>): object {
  const { username, uid, groups, extra } = (
    isObject(status) && isObject(status.userInfo) ? status.userInfo : {}
  ) as Readonly<Record<string, unknown>>;
  return { kind, apiVersion, metadata, status: { userInfo: { username, uid, groups, extra } } };
}
