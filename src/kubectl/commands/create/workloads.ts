// Upstream: kubectl/pkg/cmd/create/create_deployment.go, create_job.go and create_cronjob.go.
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { cronJobOf, deploymentOf, jobOf, jobOfCronJob } from "../../generators/workloads.ts";
import { ResourceQuery } from "../../resources/resource-query.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { createGenerated, generatorFlags } from "../create-generated.ts";
import { oneName } from "./one-name.ts";

export const createDeployment = command({
  use: "deployment NAME --image=image -- [COMMAND] [args...]",
  flags: {
    ...generatorFlags,
    image: { type: "stringSlice", help: "Images to run, a container each." },
    port: { type: "int", default: -1, help: "Port that the first container listens on." },
    replicas: { type: "int", short: "r", default: 1, help: "Pods that should run." },
  },
  run: async (session, args, flags, invocation) => {
    if (flags.image.length === 0) throw new KubectlError('required flag(s) "image" not set');
    const name = oneName(invocation);
    const words = args.slice(1);
    if (flags.image.length > 1 && words.length > 0)
      throw new KubectlError("cannot specify multiple --image options and command");
    const { port, replicas, image: images } = flags;
    const object = deploymentOf({ name, images, command: words, replicas, port }, session.io.random);
    await createGenerated(session, flags, object, "failed to create deployment: ");
  },
});

export const createJob = command({
  use: "job NAME --image=image [--from=cronjob/name] -- [COMMAND] [args...]",
  flags: {
    ...generatorFlags,
    from: { type: "string", help: "The cron job whose run to make, as cronjob/name." },
    image: { type: "string", help: "The image to run." },
  },
  run: async (session, args, flags, invocation) => {
    const name = oneName(invocation);
    const words = args.slice(1);
    if ((flags.image === "") === (flags.from === ""))
      throw new KubectlError("either --image or --from must be specified");
    if (words.length > 0 && flags.from !== "") throw new KubectlError("cannot specify --from and command");
    const object = flags.from === "" ? jobOf(name, flags.image, words) : await fromCronJob(session, name, flags.from);
    await createGenerated(session, flags, object, "failed to create job: ");
  },
});

async function fromCronJob(session: Session, name: string, from: string): Promise<KubeObject> {
  const query = await ResourceQuery.of(session, { args: [from], flatten: true, latest: true });
  const [info, ...others] = await query.infos();
  if (!info?.object || others.length > 0) throw new KubectlError("from must be an existing cronjob");
  if (info.object.kind !== "CronJob") throw new KubectlError(`unknown object type *v1.${info.object.kind}`);
  return jobOfCronJob(name, info.object);
}

export const createCronJob = command({
  use: "cronjob NAME --image=image --schedule='0/5 * * * ?' -- [COMMAND] [args...]",
  flags: {
    ...generatorFlags,
    image: { type: "string", help: "The image to run." },
    restart: { type: "string", help: "When containers are started again: OnFailure or Never." },
    schedule: { type: "string", help: "When to run, in the words of cron." },
  },
  run: async (session, args, flags, invocation) => {
    const missing = (["image", "schedule"] as const).filter((flag) => flags[flag] === "");
    if (missing.length > 0)
      throw new KubectlError(`required flag(s) ${missing.map((flag) => JSON.stringify(flag)).join(", ")} not set`);
    const name = oneName(invocation);
    const { image, schedule, restart } = flags;
    const object = cronJobOf({ name, image, schedule, restart, command: args.slice(1) });
    await createGenerated(session, flags, object, "failed to create cronjob: ");
  },
});
