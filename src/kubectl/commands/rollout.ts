// `kubectl rollout restart`, `pause`, `resume` and `status` (upstream: kubectl/pkg/cmd/rollout and polymorphichelpers).
import { formatTime } from "#schema/time.ts";
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import { goJson } from "../go/json.ts";
import { outputPrinter, printFlags } from "../printers/output.ts";
import { infoPath, patchInfo, type ResourceInfo } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { fieldManagerFlag, printObject } from "../write-options.ts";
import { type RolloutSelection, rolloutQuery, rolloutSelectionFlags } from "./rollout-selection.ts";
import { rolloutStatus } from "./rollout-status.ts";

const changeFlags = { ...printFlags, ...rolloutSelectionFlags, ...fieldManagerFlag("kubectl-rollout") } as const;

async function selected(session: Session, args: readonly string[], flags: RolloutSelection): Promise<ResourceInfo[]> {
  const infos = await (await rolloutQuery(session, args, flags)).infos();
  if (infos.length === 0) throw new KubectlError("no resources found");
  return infos;
}

interface RolloutChange {
  readonly word: string;
  readonly done: string;
  /** The patch that does it; text says why there is none. */
  patch(object: KubeObject, session: Session): KubeObject | string;
}

const specOf = (object: KubeObject): KubeObject => (object.spec ?? {}) as KubeObject;

const changeCommand = ({ word, done, patch }: RolloutChange, long: string) =>
  command({
    use: `${word} RESOURCE`,
    long,
    flags: changeFlags,
    run: async (session, args, flags) => {
      const client = await session.client();
      const printer = outputPrinter(flags, { operation: done, cwd: session.io.cwd });
      for (const info of await selected(session, args, flags)) {
        const body = patch(info.object ?? {}, session);
        if (typeof body === "string")
          throw new KubectlError(
            `${info.mapping?.resource}${info.mapping?.group ? `.${info.mapping.group}` : ""} ${JSON.stringify(info.name)} ${body}`,
          );
        const type = "application/strategic-merge-patch+json";
        const object = await patchInfo(client, info, type, goJson(body), { fieldManager: flags["field-manager"] });
        printObject(session, printer, object);
      }
    },
  });

const restartable = ["Deployment", "DaemonSet", "StatefulSet"];

export const restart = changeCommand(
  {
    word: "restart",
    done: "restarted",
    patch: (object, session) => {
      if (!restartable.includes(String(object.kind))) return "restarting is not supported";
      if (object.kind === "Deployment" && specOf(object).paused === true)
        return "can't restart paused deployment (run rollout resume first)";
      const at = formatTime({ seconds: Math.floor(session.io.clock.now() / 1000), nanos: 0 });
      return { spec: { template: { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": at } } } } };
    },
  },
  "Replace the pods of deployments, daemon sets and stateful sets by new ones.",
);

export const pause = changeCommand(
  {
    word: "pause",
    done: "paused",
    patch: (object) => {
      if (object.kind !== "Deployment") return "pausing is not supported";
      return specOf(object).paused === true ? "is already paused" : { spec: { paused: true } };
    },
  },
  "Keep changes of deployments from being rolled out.",
);

export const resume = changeCommand(
  {
    word: "resume",
    done: "resumed",
    patch: (object) => {
      if (object.kind !== "Deployment") return "resuming is not supported";
      return specOf(object).paused === true ? { spec: { paused: null } } : "is not paused";
    },
  },
  "Let changes of paused deployments be rolled out.",
);

/** How often it is looked how far a rollout is. */
const lookMs = 500;

export const status = command({
  use: "status (TYPE NAME | TYPE/NAME) [flags]",
  long: "Say how far a rollout is, until it is complete.",
  flags: {
    ...rolloutSelectionFlags,
    revision: { type: "int", help: "Only this revision; 0 means the latest." },
    timeout: { type: "duration", help: "How long to watch; 0 is until it ends." },
    watch: { type: "bool", short: "w", default: true, help: "Watch until it is complete." },
  },
  run: async (session, args, flags) => {
    const { clock, signal } = session.io;
    const client = await session.client();
    const began = clock.elapsed();
    for (const info of await selected(session, args, flags)) {
      let object = info.object ?? {};
      let told = "";
      for (;;) {
        const { message, isDone } = rolloutStatus(object, flags.revision);
        if (message !== told) session.io.stdout.write(message);
        told = message;
        if (isDone || !flags.watch) break;
        if (flags.timeout > 0n && clock.elapsed() - began > Number(flags.timeout) / 1e6)
          throw new KubectlError("timed out waiting for the condition");
        await clock.sleep(lookMs, signal);
        object = await client.json({ path: infoPath(info) });
      }
    }
  },
});

export const rollout = command({
  use: "rollout SUBCOMMAND",
  long: "Manage the rollout of deployments, daemon sets and stateful sets.",
  subcommands: [
    {
      name: "history",
      short: "View rollout history",
      load: async () => (await import("./rollout-history.ts")).rolloutHistory,
    },
    { name: "pause", short: "Mark the provided resource as paused", load: async () => pause },
    { name: "restart", short: "Restart a resource", load: async () => restart },
    { name: "resume", short: "Resume a paused resource", load: async () => resume },
    { name: "status", short: "Show the status of the rollout", load: async () => status },
    {
      name: "undo",
      short: "Undo a previous rollout",
      load: async () => (await import("./rollout-undo.ts")).rolloutUndo,
    },
  ],
});
