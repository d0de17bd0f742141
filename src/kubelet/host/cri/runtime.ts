// A container runtime over CRI v1: containerd, or another. Follows upstream's pkg/kubelet/kuberuntime.
import { symlink } from "node:fs/promises";
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import { InputMissing } from "../../inputs/sources.ts";
import { ChangeFeed } from "../../runtime/change-feed.ts";
import {
  type ContainerInputs,
  type CriSettings,
  criAnnotations,
  criContainer,
  criLabels,
  criResources,
  criSandbox,
  logDirectoryOf,
} from "../../runtime/cri-config.ts";
import type {
  ContainerConfig,
  ContainerRuntime,
  ContainerState,
  Credentials,
  ExecResult,
  Image,
  PodState,
  RuntimeUsage,
  SandboxConfig,
  SandboxState,
} from "../../runtime.ts";
import type { StreamTarget } from "../../server/streams.ts";
import { removeLog } from "../logs/files.ts";
import type { ContainerUsage } from "../stats/machine-stats.ts";
import { makeFolder } from "../volumes/files.ts";
import { imageOf, isNotFound, millis, phaseOf, usageOf } from "./answers.ts";
import { CriConnection, CriError, criCode, rpcText } from "./connection.ts";
import { holdOpen } from "./hold-open.ts";
import { lastWords, messageFile } from "./last-words.ts";
import {
  type CriRpc,
  containerdEvents,
  containerdTasks,
  containerStates,
  rpcs,
  sandboxReady,
  TaskEvent,
} from "./messages.ts";
import { PendingHooks } from "./pending-hooks.ts";

export interface CriRuntimeOptions extends CriSettings {
  readonly endpoint: string;
  readonly clock: Clock;
  /** Where the kubelet keeps files of pods: `/var/lib/kubelet/pods`. */
  readonly podsDirectory: string;
  /** Folder of links to container logs, named after pod and container: `/var/log/containers`; defaults to no links. */
  readonly logLinksDirectory?: string;
  /** What the runtime calls a class of runtimes. Rejects if there is no such class. */
  readonly runtimeHandler: (runtimeClass: string) => Promise<string>;
  /** Waits for an image that is being loaded into the node, and resolves with whether it had to; defaults to no waiting. */
  readonly imageComing?: (reference: string, signal: AbortSignal) => Promise<boolean>;
  /** Fetches and mounts what a container needs, in a pod with these addresses. */
  readonly inputs: (config: ContainerConfig, podIps: readonly string[]) => Promise<ContainerInputs>;
}

export type StreamRequest =
  | { readonly type: "exec"; readonly target: StreamTarget; readonly command: readonly string[] }
  | { readonly type: "attach"; readonly target: StreamTarget }
  | { readonly type: "portForward"; readonly sandbox: string };

/** As upstream's runtimeRequestTimeout; pulls and stops take the time they take. */
const callMs = 120_000;
/** All pods are listed again this often, regardless of events. */
const relistMs = 60_000;
/** Programs that collect logs need not be root; the files are the runtime's. */
const logFolderMode = 0o755;
/** How often a runtime without events is asked. */
const pollMs = 1000;

export class CriRuntime implements ContainerRuntime {
  readonly name: string;
  readonly version: string;
  readonly #options: CriRuntimeOptions;
  readonly #connection: CriConnection;
  /** The pods of containers and sandboxes, by id: events do not tell. */
  readonly #owners = new Map<string, string>();
  /** Statuses of exited containers: they do not change any more. */
  readonly #ended = new Map<string, ContainerState>();
  readonly #hooks: PendingHooks;
  /** Addresses of sandboxes. */
  readonly #ips = new Map<string, readonly string[]>();

  private constructor(options: CriRuntimeOptions, connection: CriConnection, name: string, version: string) {
    this.#options = options;
    this.#connection = connection;
    this.#hooks = new PendingHooks(options.podsDirectory);
    this.name = name;
    this.version = version;
  }

  /** Rejects if the runtime does not answer. */
  static async connect(options: CriRuntimeOptions, signal: AbortSignal): Promise<CriRuntime> {
    const connection = new CriConnection(options.endpoint, options.clock, (socket) =>
      holdOpen(socket, options.endpoint.replace("unix://", "")),
    );
    const { name, version } = await connection.call(rpcs.version, {}, { timeoutMs: callMs, signal });
    return new CriRuntime(options, connection, name, version);
  }

  close(): void {
    this.#connection.close();
  }

  /** Why pods cannot be run, if they cannot, in upstream's words. */
  async notReady(signal: AbortSignal): Promise<string | undefined> {
    const { status } = await this.#call(rpcs.status, {}, signal);
    const told = new Map(status?.conditions.map((condition) => [condition.type, condition]));
    const bad = ["RuntimeReady", "NetworkReady"].flatMap((type) => {
      const { status: holds = false, reason = "", message = "" } = told.get(type) ?? {};
      const what = type === "NetworkReady" ? "container runtime network" : "container runtime";
      return holds ? [] : [`${what} not ready: ${type}=false reason:${reason} message:${message}`];
    });
    return bad.length > 1 ? `[${bad.join(", ")}]` : bad[0];
  }

  async observe(podUid: string, signal: AbortSignal): Promise<PodState> {
    const filter = { filter: { labels: { [criLabels.podUid]: podUid } } };
    const [{ items }, { containers }] = await Promise.all([
      this.#call(rpcs.listSandboxes, filter, signal),
      this.#call(rpcs.listContainers, filter, signal),
    ]);
    for (const { id } of [...items, ...containers]) this.#owners.set(id, podUid);
    const sandboxes = await Promise.all(
      items.map(async ({ id, metadata, state, createdAt }): Promise<SandboxState> => {
        const isReady = state === sandboxReady;
        const ips = isReady ? await this.#addresses(id, signal) : [];
        return { id, attempt: metadata?.attempt ?? 0, isReady, createdAt: millis(createdAt), ips };
      }),
    );
    const states = await Promise.all(containers.map(({ id, sandbox }) => this.#container(id, sandbox, signal)));
    const newestFirst = (a: { createdAt: number }, b: { createdAt: number }) => b.createdAt - a.createdAt;
    return {
      sandboxes: sandboxes.toSorted(newestFirst),
      containers: states.filter((state) => state !== undefined).toSorted(newestFirst),
    };
  }

  async pods(signal: AbortSignal): Promise<readonly string[]> {
    const { items } = await this.#call(rpcs.listSandboxes, {}, signal);
    return [...new Set(items.map(({ metadata }) => metadata?.uid ?? ""))];
  }

  async *changes(signal: AbortSignal): AsyncGenerator<readonly string[]> {
    const feed = new ChangeFeed();
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const reading = Promise.all([this.#readEvents(feed, either), this.#relist(feed, either)]).catch((error) =>
      stop.abort(error),
    );
    try {
      yield* feed.follow(either);
      either.throwIfAborted();
    } finally {
      stop.abort(new Error("nobody listens any more"));
      await reading;
    }
  }

  async runSandbox(config: SandboxConfig, signal: AbortSignal): Promise<string> {
    const { hostUsers, runtimeClassName } = config.pod.spec;
    if (hostUsers === false)
      throw new Error("can't set `spec.hostUsers: false`, runtime does not support user namespaces");
    const handler = runtimeClassName ? await this.#options.runtimeHandler(runtimeClassName) : "";
    const request = { config: criSandbox(config, this.#options), handler };
    await makeFolder(request.config.logDirectory, logFolderMode);
    const { id } = await this.#call(rpcs.runSandbox, request, signal);
    this.#owners.set(id, config.pod.metadata.uid ?? "");
    return id;
  }

  async stopSandbox(id: string, signal: AbortSignal): Promise<void> {
    await this.#gone(this.#call(rpcs.stopSandbox, { id }, signal));
  }

  async removeSandbox(id: string, signal: AbortSignal): Promise<void> {
    await this.#gone(this.#call(rpcs.removeSandbox, { id }, signal));
    this.#owners.delete(id);
    this.#ips.delete(id);
  }

  async createContainer(sandbox: string, config: ContainerConfig, signal: AbortSignal): Promise<string> {
    const { pod, container, attempt } = config;
    const inputs = await this.#options.inputs(config, await this.#addresses(sandbox, signal));
    const message = await messageFile(this.#options.podsDirectory, pod.metadata.uid ?? "", container.name, attempt);
    const mount = {
      containerPath: container.terminationMessagePath,
      hostPath: message,
      readonly: false,
      propagation: 0,
    };
    const target = await this.#targetOf(config, signal);
    const described = criContainer(config, { ...inputs, mounts: [...inputs.mounts, mount], target }, this.#options);
    await makeFolder(`${logDirectoryOf(pod, this.#options)}/${container.name}`, logFolderMode);
    const sandboxConfig = criSandbox({ pod, attempt: 0 }, this.#options);
    const hook = { podUid: pod.metadata.uid ?? "", container: container.name, attempt };
    if (container.lifecycle?.postStart) await this.#hooks.expect(hook);
    const { id } = await this.#call(rpcs.createContainer, { sandbox, config: described, sandboxConfig }, signal);
    this.#owners.set(id, pod.metadata.uid ?? "");
    if (container.lifecycle?.postStart) this.#hooks.created(id, hook);
    await this.#linkLog(config, id);
    return id;
  }

  async hookDone(id: string): Promise<void> {
    await this.#hooks.done(id);
  }

  async startContainer(id: string, signal: AbortSignal): Promise<void> {
    await this.#call(rpcs.startContainer, { id }, signal);
  }

  async stopContainer(id: string, graceMs: number, signal: AbortSignal): Promise<void> {
    const timeoutSeconds = Math.ceil(graceMs / 1000);
    const limits = { timeoutMs: callMs + graceMs, signal };
    await this.#gone(this.#connection.call(rpcs.stopContainer, { id, timeoutSeconds }, limits));
  }

  async resizeContainer(id: string, pod: Pod, container: Container, signal: AbortSignal): Promise<void> {
    await this.#call(rpcs.updateResources, { id, linux: criResources(pod, container, this.#options) }, signal);
  }

  async removeContainer(id: string, signal: AbortSignal): Promise<void> {
    const { logPath = "" } = (await this.#statusOf(id, signal)) ?? {};
    const remove = () => this.#gone(this.#call(rpcs.removeContainer, { id }, signal));
    try {
      await remove();
    } catch (error) {
      if (!(error instanceof CriError && /cannot delete running task/.test(error.message))) throw error;
      await this.#deleteTask(id, signal);
      await remove();
    }
    if (logPath !== "") await removeLog(logPath);
    this.#ended.delete(id);
    this.#hooks.forget(id);
    this.#owners.delete(id);
  }

  /** A start that was cut off may leave what CRI takes for a container that was never started, and so neither ends nor removes. */
  async #deleteTask(containerId: string, signal: AbortSignal): Promise<void> {
    await this.#gone(this.#call(containerdTasks.kill, { containerId, signal: 9, all: true }, signal));
    await this.#gone(this.#call(containerdTasks.delete, { containerId }, signal));
  }

  /** How long it may take is the caller's to say, by the signal. */
  async exec(id: string, command: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    const limits = { timeoutMs: Number.POSITIVE_INFINITY, signal };
    const { stdout, stderr, exitCode } = await this.#connection.call(rpcs.execSync, { id, command }, limits);
    return { exitCode, output: Buffer.concat([stdout, stderr]) };
  }

  /** A URL of the streaming server for one exec, attach or port-forward; it is good for one connection. */
  async streamTo(request: StreamRequest, signal: AbortSignal): Promise<string> {
    if (request.type === "portForward")
      return (await this.#call(rpcs.portForward, { sandbox: request.sandbox }, signal)).url;
    const { stdin, stdout, tty } = request.target.options;
    const wanted = { id: request.target.id, stdin, stdout, tty, stderr: request.target.options.stderr && !tty };
    const { url } = await (request.type === "exec"
      ? this.#call(rpcs.exec, { ...wanted, command: request.command }, signal)
      : this.#call(rpcs.attach, wanted, signal));
    return url;
  }

  /** The file with a container's log, and whether more may come. */
  async logOf(id: string, signal: AbortSignal): Promise<{ readonly path: string; readonly isRunning: boolean }> {
    const status = await this.#statusOf(id, signal);
    if (!status) throw new Error(`container ${id} not found`);
    return { path: status.logPath, isRunning: containerStates[status.state] === "running" };
  }

  /** Its log was moved away: it is to begin another. */
  async reopenLog(id: string, signal: AbortSignal): Promise<void> {
    await this.#call(rpcs.reopenLog, { id }, signal);
  }

  async usage(containers: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, RuntimeUsage>> {
    const all = await this.containerUsage(signal);
    return new Map(
      containers.flatMap((id) => {
        const used = all.get(id);
        return used ? [[id, { cpuSeconds: used.cpuNanos / 1e9, memoryBytes: used.workingSetBytes }] as const] : [];
      }),
    );
  }

  /** Of all containers that run, by id. */
  async containerUsage(signal: AbortSignal): Promise<ReadonlyMap<string, ContainerUsage>> {
    const { stats } = await this.#call(rpcs.listStats, {}, signal);
    return new Map(stats.map((one) => [one.attributes?.id ?? "", usageOf(one)]));
  }

  async images(signal: AbortSignal): Promise<readonly Image[]> {
    const { images } = await this.#call(rpcs.listImages, {}, signal);
    return images.map(imageOf);
  }

  async findImage(reference: string, signal: AbortSignal): Promise<Image | undefined> {
    const { image } = await this.#call(rpcs.imageStatus, { image: { image: reference } }, signal);
    return image && imageOf(image);
  }

  async pullImage(reference: string, auth: Credentials | undefined, _pod: Pod, signal: AbortSignal): Promise<Image> {
    const brought = (await this.#options.imageComing?.(reference, signal)) && (await this.findImage(reference, signal));
    if (brought) return brought;
    const request = { image: { image: reference }, ...(auth && { auth }) };
    const limits = { timeoutMs: Number.POSITIVE_INFINITY, signal };
    const { ref } = await this.#connection.call(rpcs.pullImage, request, limits).catch((error: unknown) => {
      // People search for these messages: upstream shows them as its gRPC library formats them, unless the code is Unknown.
      const isTelling = error instanceof CriError && error.code !== criCode.unknown;
      throw isTelling ? new CriError(error.code, rpcText(error)) : error;
    });
    return (await this.findImage(ref, signal)) ?? { id: ref, names: [reference], sizeBytes: 0 };
  }

  /** Ids and names of the images of all containers, dead ones included. */
  async imagesInUse(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { containers } = await this.#call(rpcs.listContainers, {}, signal);
    return new Set(containers.flatMap(({ image, imageRef }) => [image?.image ?? "", imageRef]));
  }

  async removeImage(id: string, signal: AbortSignal): Promise<void> {
    await this.#gone(this.#call(rpcs.removeImage, { image: { image: id } }, signal));
  }

  #call<D, T>(rpc: CriRpc<D, T>, draft: D, signal: AbortSignal): Promise<T> {
    return this.#connection.call(rpc, draft, { timeoutMs: callMs, signal });
  }

  /** What is no longer there need not be destroyed. */
  async #gone(call: Promise<unknown>): Promise<void> {
    try {
      await call;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #addresses(sandbox: string, signal: AbortSignal): Promise<readonly string[]> {
    const known = this.#ips.get(sandbox);
    if (known) return known;
    const { status } = await this.#call(rpcs.sandboxStatus, { id: sandbox }, signal);
    const { ip = "", additionalIps = [] } = status?.network ?? {};
    const ips = ip === "" ? [] : [ip, ...additionalIps.map((one) => one.ip)];
    if (ips.length > 0) this.#ips.set(sandbox, ips);
    return ips;
  }

  /** The newest container with the name that an ephemeral container targets, whether it runs or not. */
  async #targetOf({ pod, container }: ContainerConfig, signal: AbortSignal): Promise<string | undefined> {
    const name = pod.spec.ephemeralContainers?.find((one) => one.name === container.name)?.targetContainerName;
    if (!name) return undefined;
    const { metadata } = pod;
    const filter = { labels: { [criLabels.podUid]: metadata.uid ?? "", [criLabels.containerName]: name } };
    const { containers } = await this.#call(rpcs.listContainers, { filter }, signal);
    const newest = containers.toSorted((a, b) => Number(b.createdAt - a.createdAt))[0];
    if (!newest) throw new InputMissing(`unable to find target container ${name}`);
    return newest.id;
  }

  async #linkLog({ pod, container, attempt }: ContainerConfig, id: string): Promise<void> {
    const { logLinksDirectory } = this.#options;
    if (logLinksDirectory === undefined) return;
    await makeFolder(logLinksDirectory, logFolderMode);
    const { name, namespace } = pod.metadata;
    const link = `${`${name}_${namespace}_${container.name}-${id}`.slice(0, 251)}.log`;
    const path = `${logDirectoryOf(pod, this.#options)}/${container.name}/${attempt}.log`;
    await symlink(path, `${logLinksDirectory}/${link}`).catch((error) => {
      if (!hasCode(error, "EEXIST")) throw error;
    });
  }

  /** Undefined if it was removed between the list and the question. */
  async #container(id: string, sandbox: string, signal: AbortSignal): Promise<ContainerState | undefined> {
    const known = this.#ended.get(id);
    if (known) return known;
    const status = await this.#statusOf(id, signal);
    if (!status) return undefined;
    const phase = phaseOf(status);
    const attempt = status.metadata?.attempt ?? 0;
    const finishedAt = millis(status.finishedAt);
    const name = status.metadata?.name ?? "";
    const place = { podUid: status.labels[criLabels.podUid] ?? "", container: name, attempt };
    const isHookDue = phase === "running" && (await this.#hooks.isDue(id, place));
    const state: ContainerState = {
      id,
      sandbox,
      name,
      attempt,
      phase,
      ...(isHookDue && { isHookDue }),
      createdAt: millis(status.createdAt),
      // containerd notes the start when the shim has answered: a short life may have ended by then.
      startedAt: phase === "exited" ? Math.min(millis(status.startedAt), finishedAt) : millis(status.startedAt),
      finishedAt,
      exitCode: status.exitCode,
      reason: phase === "exited" ? status.reason || (status.exitCode === 0 ? "Completed" : "Error") : "",
      message: phase === "exited" ? await lastWords(this.#options.podsDirectory, status) : "",
      image: status.annotations[criAnnotations.image] ?? status.image?.image ?? "",
      imageId: status.imageRef,
    };
    if (phase === "exited") this.#ended.set(id, state);
    return state;
  }

  async #statusOf(id: string, signal: AbortSignal) {
    try {
      return (await this.#call(rpcs.containerStatus, { id }, signal)).status;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** containerd sends events when containers end; other runtimes are polled. */
  async #readEvents(feed: ChangeFeed, signal: AbortSignal): Promise<void> {
    const filters = ['topic=="/tasks/exit"', 'topic=="/tasks/oom"'];
    try {
      for await (const { event } of this.#connection.stream(containerdEvents, { filters }, signal)) {
        const { containerId } = TaskEvent.decode(event?.value ?? new Uint8Array());
        await this.#settled(containerId, signal);
        const uid = this.#owners.get(containerId);
        if (uid !== undefined) feed.add(uid);
      }
      throw new CriError(criCode.unavailable, "the stream of events has ended");
    } catch (error) {
      if (!(error instanceof CriError) || error.code !== criCode.unimplemented) throw error;
      await this.#poll(feed, signal);
    }
  }

  /** containerd tells of an end before its CRI side has noted it: what is looked at too early still runs. */
  async #settled(id: string, signal: AbortSignal): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      const status = await this.#statusOf(id, signal);
      if (!status || containerStates[status.state] !== "running") return;
      await this.#options.clock.sleep(25, signal);
    }
  }

  async #poll(feed: ChangeFeed, signal: AbortSignal): Promise<void> {
    const states = new Map<string, number>();
    for (;;) {
      const { containers } = await this.#call(rpcs.listContainers, {}, signal);
      for (const { id, state, labels } of containers) {
        if (states.get(id) === state) continue;
        states.set(id, state);
        const uid = labels[criLabels.podUid];
        if (uid !== undefined) feed.add(uid);
      }
      const present = new Set(containers.map(({ id }) => id));
      for (const id of states.keys()) if (!present.has(id)) states.delete(id);
      await this.#options.clock.sleep(pollMs, signal);
    }
  }

  /** Lists once soon after the start, too: no event is sent for containers that end while the stream is being opened. */
  async #relist(feed: ChangeFeed, signal: AbortSignal): Promise<void> {
    for (let afterMs = pollMs; ; afterMs = relistMs) {
      await this.#options.clock.sleep(afterMs, signal);
      for (const uid of await this.pods(signal)) feed.add(uid);
    }
  }
}
