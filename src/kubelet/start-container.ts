// Starts one container: pull, create, start, postStart hook. Follows upstream's startContainer
// (pkg/kubelet/kuberuntime/kuberuntime_container.go).
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { formatDuration } from "#base/duration.ts";
import { explain } from "#base/errors.ts";
import type { StepName } from "#wire/steps.ts";
import { imageNameProblem } from "./images/image-name.ts";
import { InputMissing } from "./inputs/sources.ts";
import { type Delay, type DelayLimits, nextDelay } from "./pod/restart.ts";
import type { StartContainer, StartFailure } from "./pod/view.ts";
import type { PodsContext } from "./pods-context.ts";
import { rootProblem } from "./root-user.ts";
import type { Image } from "./runtime.ts";

/** A start that has to be tried again later. */
export class StartError extends Error {
  override readonly name = "StartError";
  readonly failure: StartFailure;

  constructor(failure: StartFailure, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

const pullDelays: DelayLimits = { firstMs: 10_000, maxMs: 300_000 };
/** After this a pull that failed shows as one that waits. */
const backOffShownMs = 1000;
const retryMs = 10_000;
/** One that a kubelet before us made may still be on its way, and then soon runs without us. */
const madeRetryMs = 1000;

export interface StartSubject {
  readonly pod: Pod;
  /** What the next pull of an image waits if this one fails, by image. */
  readonly pulls: Map<string, Delay>;
  /** Records a step and its duration. */
  readonly recordStep: (step: StepName, ms: number) => void;
}

export async function startContainer(
  { container, sandbox, attempt, existing, isStarted, kind }: StartContainer,
  subject: StartSubject,
  context: PodsContext,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, hooks, event, clock } = context;
  const { pod } = subject;
  const tell = (type: "Normal" | "Warning", reason: string, message: string) =>
    event(pod, type, reason, message, container.name);
  const failed = (reason: string, error: unknown): StartError => {
    const message = explain(error);
    tell("Warning", "Failed", `Error: ${message}`);
    return new StartError({ reason, message, retryAt: clock.now() + (existing ? madeRetryMs : retryMs) }, error);
  };
  const step = async <T>(name: StepName, reason: (error: unknown) => string, run: Promise<T>): Promise<T> => {
    const start = clock.elapsed();
    try {
      const result = await run;
      subject.recordStep(name, clock.elapsed() - start);
      return result;
    } catch (error) {
      throw signal.aborted ? error : failed(reason(error), error);
    }
  };

  const make = async (): Promise<string> => {
    const image = await ensureImage(container, subject, context, signal);
    const problem = rootProblem(pod, container, image.user);
    if (problem !== undefined) throw failed("CreateContainerConfigError", new Error(problem));
    const config = { pod, container, kind, attempt, imageId: image.id };
    const id = await step("create", createFailure, runtime.createContainer(sandbox, config, signal));
    tell("Normal", "Created", "Container created");
    return id;
  };

  const id = existing ?? (await make());
  if (!isStarted) {
    await step("start", () => "RunContainerError", runtime.startContainer(id, signal));
    tell("Normal", "Started", "Container started");
  }

  const handler = container.lifecycle?.postStart;
  if (!handler) return;
  try {
    await hooks.run({ pod, container, id, handler, timeoutMs: Number.POSITIVE_INFINITY }, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    tell("Warning", "FailedPostStartHook", "PostStartHook failed");
    tell("Normal", "Killing", "FailedPostStartHook");
    await runtime.stopContainer(id, pod.spec.terminationGracePeriodSeconds * 1000, signal);
    throw new StartError({ reason: "PostStartHookError", message: explain(error), retryAt: clock.now() }, error);
  }
  await runtime.hookDone(id);
}

/** Whether what the container needs is missing, or the runtime would not have it. */
const createFailure = (error: unknown): string =>
  error instanceof InputMissing ? "CreateContainerConfigError" : "CreateContainerError";

/** The image, pulled if it has to be. Its name is as the spec gives it: `latest` is added to one without a tag by the runtime. */
async function ensureImage(
  { name, image = "", imagePullPolicy }: Container,
  { pod, pulls, recordStep }: StartSubject,
  { runtime, event, clock, credentials }: PodsContext,
  signal: AbortSignal,
): Promise<Image> {
  const tell = (type: "Normal" | "Warning", reason: string, message: string) => event(pod, type, reason, message, name);
  const problem = imageNameProblem(image);
  if (problem !== undefined) {
    const quoted = JSON.stringify(image);
    const message = `Failed to apply default image tag ${quoted}: couldn't parse image name ${quoted}: ${problem}`;
    tell("Warning", "InspectFailed", message);
    tell("Warning", "Failed", "Error: InvalidImageName");
    throw new StartError({ reason: "InvalidImageName", message, retryAt: clock.now() + retryMs });
  }
  const start = clock.elapsed();
  const present = imagePullPolicy === "Always" ? undefined : await runtime.findImage(image, signal);
  if (present) {
    recordStep("image-present", clock.elapsed() - start);
    tell("Normal", "Pulled", `Container image "${image}" already present on machine and can be accessed by the pod`);
    return present;
  }
  if (imagePullPolicy === "Never") {
    const message = `Container image "${image}" is not present with pull policy of Never`;
    tell("Warning", "ErrImageNeverPull", message);
    tell("Warning", "Failed", "Error: ErrImageNeverPull");
    throw new StartError({ reason: "ErrImageNeverPull", message, retryAt: clock.now() + retryMs });
  }
  tell("Normal", "Pulling", `Pulling image "${image}"`);
  try {
    const pulled = await runtime.pullImage(image, await credentials(pod, image, signal), pod, signal);
    pulls.delete(image);
    recordStep("image-pulled", clock.elapsed() - start);
    const took = formatDuration(BigInt(Math.round(clock.elapsed() - start)) * 1_000_000n);
    tell(
      "Normal",
      "Pulled",
      `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: ${pulled.sizeBytes} bytes.`,
    );
    return pulled;
  } catch (error) {
    if (signal.aborted) throw error;
    const now = clock.now();
    const message = explain(error);
    tell("Warning", "Failed", `Failed to pull image "${image}": ${message}`);
    tell("Warning", "Failed", "Error: ErrImagePull");
    const delay = nextDelay(pulls.get(image), now, now, pullDelays);
    pulls.set(image, delay);
    const backOff = `Back-off pulling image "${image}": ErrImagePull: ${message}`;
    throw new StartError(
      {
        reason: "ErrImagePull",
        message,
        retryAt: now + delay.ms,
        later: { reason: "ImagePullBackOff", message: backOff, at: now + backOffShownMs },
      },
      error,
    );
  }
}
