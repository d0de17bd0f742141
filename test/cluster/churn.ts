// Workloads that come, change and go by chance, beside some that nobody touches.
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Job } from "#api/batch/v1/job.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { ConnectionLost } from "#client/connection-lost.ts";
import type { RealCluster } from "./real-cluster.ts";

const namespace = "default";
const image = "knarr.local/busybox:1.0";

/** Runs until it is asked to end, and then ends at once. */
const staying = { name: "main", image, command: ["sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait"] };

export class Churn {
  readonly #cluster: RealCluster;
  readonly #random: Random;
  /** Where each pod of a job leaves a line each time its container runs. */
  readonly #runs: string;
  #steady: readonly string[] = [];
  /** How many changes the API took. */
  done = 0;

  constructor(cluster: RealCluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
    this.#runs = join(cluster.machine.home, "runs");
    mkdirSync(this.#runs);
  }

  /** Makes those that nobody touches. */
  async begin(): Promise<void> {
    await this.#cluster.withClient(async (client) => {
      await client.create(Deployment, deployment("steady", 2));
      await client.create(Pod, { metadata: { name: "steady", namespace }, spec: { containers: [staying] } });
    });
  }

  /** To be called when all run. */
  async remember(): Promise<void> {
    this.#steady = await this.#steadyNow();
  }

  /** What has happened to those that nobody touched. */
  async disturbances(): Promise<readonly string[]> {
    const now = await this.#steadyNow();
    return [
      ...this.#steady.filter((one) => !now.includes(one)).map((one) => `lost ${one}`),
      ...now.filter((one) => !this.#steady.includes(one)).map((one) => `new ${one}`),
    ];
  }

  /** What has happened to jobs: each is to run once and to succeed. */
  async unfinished(): Promise<readonly string[]> {
    const { jobs, pods } = await this.#cluster.withClient(async (client) => ({
      jobs: (await client.list(Job, { namespace })).items,
      pods: (await client.list(Pod, { namespace })).items,
    }));
    return [
      ...jobs
        .filter(({ status }) => status.succeeded !== 1)
        .map(({ metadata }) => `job ${metadata.name} has not succeeded`),
      ...pods
        .filter(({ status }) => status.phase === "Failed")
        .map(({ metadata, status }) => `${metadata.name} has failed: ${JSON.stringify(status)}`),
      ...readdirSync(this.#runs)
        .map((name) => ({ name, times: readFileSync(join(this.#runs, name), "utf8").trim().split("\n").length }))
        .filter(({ times }) => times !== 1)
        .map(({ name, times }) => `${name} ran ${times} times`),
    ];
  }

  /** Has the API take so many changes, unless it goes meanwhile. */
  async changes(count: number): Promise<void> {
    const until = this.done + count;
    await this.#cluster.withClient(async (client) => {
      while (this.done < until)
        try {
          await this.#change(client);
          this.done++;
        } catch (error) {
          if (error instanceof ConnectionLost) return;
          if (!(error instanceof ApiError)) throw error; // what is to go may be gone, what is to come may be there
        }
    });
  }

  async #change(client: Client): Promise<void> {
    const random = this.#random;
    const name = `${["a", "b", "c"][random.below(3)]}`;
    const place = { namespace, name };
    const replicas = random.below(4);
    const graceSeconds = random.below(2) * 5;
    const all = [
      () => client.create(Deployment, deployment(name, replicas)),
      () => client.patch(Deployment, place, "merge", { spec: { replicas } }),
      () => client.delete(Deployment, place),
      () => client.create(Pod, { metadata: place, spec: { containers: [staying, { ...staying, name: "other" }] } }),
      () => client.delete(Pod, place, { graceSeconds }),
      () => client.create(Job, this.#job(name)),
      () => client.create(Job, this.#job(name)),
      () => client.delete(Job, place, { propagation: "Background" }),
    ];
    await all[random.below(all.length)]?.();
  }

  #job(name: string) {
    const counted = { name: "main", image, command: ["sh", "-c", 'echo ran >> "/runs/$(hostname)"; sleep 0.5'] };
    return {
      metadata: { namespace, name },
      spec: {
        template: {
          spec: {
            restartPolicy: "Never",
            containers: [{ ...counted, volumeMounts: [{ name: "runs", mountPath: "/runs" }] }],
            volumes: [{ name: "runs", hostPath: { path: this.#runs } }],
          },
        },
      },
    } as const;
  }

  async #steadyNow(): Promise<readonly string[]> {
    return (await this.#cluster.pods())
      .filter(({ metadata }) => metadata.name.startsWith("steady"))
      .flatMap(({ metadata, status }) =>
        (status.containerStatuses ?? []).map(
          ({ containerID, restartCount }) => `${metadata.name}: ${containerID}, restarted ${restartCount} times`,
        ),
      );
  }
}

const deployment = (name: string, replicas: number) => ({
  metadata: { namespace, name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [staying] } },
  },
});
