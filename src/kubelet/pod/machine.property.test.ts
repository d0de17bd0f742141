// The machine against a runtime that does what it is told, late, in any order, and sometimes not at all.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { type Random, seededRandom } from "#base/random.ts";
import type { Draft } from "#schema/infer.ts";
import type { ContainerState, SandboxState } from "../runtime.ts";
import { podOf, now as start, viewOf } from "../testing.ts";
import { planPod } from "./machine.ts";
import type { Delay } from "./restart.ts";
import { podStatus } from "./status.ts";
import type { PodAction, PodPlan, StartFailure, StopProgress } from "./view.ts";

/** Things that go on, each to be done or to fail at some later step. */
class World {
  readonly #random: Random;
  readonly #pod: Pod;
  /** How often what is told goes wrong. */
  chaos: number;
  now = start;
  sandboxes: SandboxState[] = [];
  containers: ContainerState[] = [];
  readonly starting = new Map<string, Start>();
  readonly stopping = new Map<string, StopProgress>();
  readonly removing = new Set<string>();
  readonly restarting = new Set<string>();
  readonly delays = new Map<string, Delay>();
  readonly failures = new Map<string, StartFailure>();
  readonly #aborted = new Set<string>();
  /** Containers that the runtime still starts for a kubelet that is no more. */
  readonly #late = new Set<string>();
  /** Names of containers, once for each time they ran. */
  readonly ran: string[] = [];
  sandboxWork: PodAction | undefined;
  sandboxRetryAt = 0;
  deleted = false;
  #made = 0;

  constructor(pod: Pod, random: Random, chaos: number) {
    this.#pod = pod;
    this.#random = random;
    this.chaos = chaos;
  }

  get pod(): Pod {
    const { metadata } = this.#pod;
    return this.deleted
      ? {
          ...this.#pod,
          metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 5 },
        }
      : this.#pod;
  }

  plan(): PodPlan {
    return planPod(
      viewOf(
        this.pod,
        { sandboxes: this.sandboxes, containers: this.containers },
        {
          isSandboxBusy: this.sandboxWork !== undefined,
          sandboxRetryAt: this.sandboxRetryAt,
          starting: new Set(this.starting.keys()),
          stopping: this.stopping,
          removing: this.removing,
          restarting: this.restarting,
          delays: this.delays,
          failures: this.failures,
          now: this.now,
        },
      ),
    );
  }

  begin(action: PodAction): void {
    switch (action.type) {
      case "createSandbox":
      case "stopSandbox":
      case "removeSandbox":
        assert.equal(this.sandboxWork, undefined, "two things at once with the sandbox");
        this.sandboxWork = action;
        break;
      case "startContainer": {
        const { name } = action.container;
        assert.ok(!this.starting.has(name), `${name} is started twice`);
        assert.ok(
          !this.containers.some((one) => one.name === name && one.phase === "running"),
          `two of ${name} would run`,
        );
        if (this.#pod.spec.containers.some((one) => one.name === name)) this.#assertInitialized(action.sandbox);
        this.starting.set(name, action);
        if (action.delay) this.delays.set(name, action.delay);
        break;
      }
      case "abortStart":
        this.#aborted.add(action.name);
        break;
      case "beginStop":
        if (action.restart) this.restarting.add(action.name);
        this.stopping.set(action.id, {
          since: this.now,
          graceMs: action.graceMs,
          isHookDone: !action.hook,
          killAt: undefined,
        });
        break;
      case "stopContainer": {
        const record = this.stopping.get(action.id) ?? { since: this.now, graceMs: action.graceMs, isHookDone: true };
        this.stopping.set(action.id, { ...record, killAt: this.now + action.graceMs });
        break;
      }
      case "removeContainer": {
        const one = this.containers.find(({ id }) => id === action.id);
        assert.notEqual(one?.phase, "running", "a container is removed while it runs");
        this.removing.add(action.id);
      }
    }
  }

  /** Every init container of this sandbox has ended well, or is a sidecar that was started. */
  #assertInitialized(sandbox: string): void {
    for (const container of this.#pod.spec.initContainers ?? []) {
      const runs = this.containers.filter(({ name, sandbox: its }) => name === container.name && its === sandbox);
      assert.ok(
        runs.some(({ exitCode, phase, startedAt }) =>
          isSidecar(container) ? startedAt > 0 : phase === "exited" && exitCode === 0,
        ),
        `a container starts before ${container.name} is done`,
      );
    }
  }

  /** Something happens, or nothing; time passes. */
  step(): void {
    const fails = () => this.#random.next() < this.chaos;
    const happens = () => this.#random.next() < 0.5;
    this.now += 1000;
    const work = this.sandboxWork;
    if (work && happens()) {
      this.sandboxWork = undefined;
      if (fails()) this.sandboxRetryAt = this.now + 2000;
      else if (work.type === "createSandbox")
        this.sandboxes = [
          { id: `s${++this.#made}`, attempt: work.attempt, isReady: true, createdAt: this.now, ips: ["1"] },
          ...this.sandboxes,
        ];
      else if (work.type === "stopSandbox") this.#loseSandbox(work.id);
      else if (work.type === "removeSandbox") this.sandboxes = this.sandboxes.filter(({ id }) => id !== work.id);
    }
    for (const [name, action] of this.starting) if (happens()) this.#start(name, action, fails());
    for (const [id, { killAt }] of this.stopping) {
      const record = this.stopping.get(id);
      if (record && !record.isHookDone && happens()) this.stopping.set(id, { ...record, isHookDone: true });
      if (killAt !== undefined && (happens() || this.now >= killAt)) this.#exit(id, this.now >= killAt ? 137 : 0);
    }
    for (const id of this.removing)
      if (happens()) {
        this.removing.delete(id);
        if (!fails()) this.containers = this.containers.filter((one) => one.id !== id);
      }
    for (const id of this.#late) if (happens()) this.#startLate(id);
    for (const { id, name, phase } of this.containers) {
      if (phase !== "running") continue;
      const init = this.#pod.spec.initContainers?.find((one) => one.name === name);
      const ends = init ? !isSidecar(init) : this.#pod.spec.restartPolicy !== "Always";
      if (fails()) this.#exit(id, 1);
      else if (ends && happens()) this.#exit(id, 0);
    }
    const [sandbox] = this.sandboxes;
    if (sandbox?.isReady && this.#random.next() < this.chaos / 10) this.#loseSandbox(sandbox.id);
  }

  #start(name: string, { container, sandbox, attempt, existing: made }: Start, fails: boolean): void {
    this.starting.delete(name);
    if (this.#aborted.delete(name)) return;
    const isStartable = made === undefined || (!this.#late.has(made) && this.#phaseOf(made) === "created");
    if (fails || !isStartable || !this.#isReady(sandbox)) {
      this.failures.set(name, { reason: "RunContainerError", message: "", retryAt: this.now + 3000 });
      return;
    }
    this.failures.delete(name);
    this.restarting.delete(name);
    this.#run(made ?? this.#make({ container, sandbox, attempt }));
  }

  #isReady(sandbox: string): boolean {
    return this.sandboxes.some(({ id, isReady }) => id === sandbox && isReady);
  }

  #phaseOf(id: string) {
    return this.containers.find((one) => one.id === id)?.phase;
  }

  #make({ container, sandbox, attempt }: Pick<Start, "container" | "sandbox" | "attempt">): string {
    const id = `c${++this.#made}`;
    this.containers = [
      {
        id,
        sandbox,
        name: container.name,
        attempt,
        phase: "created",
        createdAt: this.now,
        startedAt: 0,
        finishedAt: 0,
        exitCode: 0,
        reason: "",
        message: "",
        image: container.image ?? "",
        imageId: "",
      },
      ...this.containers,
    ];
    return id;
  }

  #run(id: string): void {
    this.containers = this.containers.map((one) => {
      if (one.id !== id) return one;
      const { name } = one;
      assert.ok(
        !this.containers.some((other) => other.name === name && other.phase === "running"),
        `two of ${name} run`,
      );
      this.ran.push(name);
      return { ...one, phase: "running", startedAt: this.now };
    });
  }

  #startLate(id: string): void {
    this.#late.delete(id);
    const one = this.containers.find((container) => container.id === id);
    if (one && this.#isReady(one.sandbox)) this.#run(id);
  }

  /** Another kubelet takes the place of this one: it knows what the runtime has, and the runtime may still be at what it was told. */
  replaceKubelet(): void {
    for (const action of this.starting.values()) {
      const fate = ["not made", "made", "aborted", "late"][this.#random.below(4)];
      if (fate === "not made") continue;
      const id = action.existing ?? this.#make(action);
      if (this.#phaseOf(id) !== "created" || this.#late.has(id)) continue;
      if (fate === "late") this.#late.add(id);
      if (fate === "aborted")
        this.containers = this.containers.map((one) => (one.id === id ? { ...one, phase: "aborted" } : one));
    }
    for (const memory of [this.starting, this.stopping, this.removing, this.restarting, this.delays, this.failures])
      memory.clear();
    this.#aborted.clear();
    this.sandboxWork = undefined;
    this.sandboxRetryAt = 0;
  }

  #exit(id: string, exitCode: number): void {
    this.stopping.delete(id);
    this.containers = this.containers.map((one) =>
      one.id === id && one.phase === "running"
        ? { ...one, phase: "exited", exitCode, finishedAt: this.now, reason: exitCode ? "Error" : "Completed" }
        : one,
    );
  }

  #loseSandbox(id: string): void {
    this.sandboxes = this.sandboxes.map((one) => (one.id === id ? { ...one, isReady: false } : one));
    for (const container of this.containers) if (container.sandbox === id) this.#exit(container.id, 137);
  }

  status(plan: PodPlan, old: Pod["status"]) {
    return podStatus({
      pod: this.pod,
      old,
      state: { sandboxes: this.sandboxes, containers: this.containers },
      plan,
      starting: new Set(this.starting.keys()),
      probes: new Map(),
      runtimeName: "test",
      resized: new Map(),
      resize: undefined,
      hostIps: ["9"],
      acceptedAt: start,
      now: this.now,
    });
  }
}

type Start = PodAction & { type: "startContainer" };

const specs: fc.Arbitrary<Draft<PodSpec>> = fc
  .record({
    restartPolicy: fc.constantFrom("Always", "OnFailure", "Never"),
    apps: fc.integer({ min: 1, max: 3 }),
    init: fc.array(fc.boolean(), { maxLength: 3 }),
    hook: fc.boolean(),
  })
  .map(({ restartPolicy, apps, init, hook }) => ({
    restartPolicy,
    initContainers: init.map((sidecar, i) => ({
      name: `i${i}`,
      image: "x",
      ...(sidecar && { restartPolicy: "Always" }),
    })),
    containers: Array.from({ length: apps }, (_, i) => ({
      name: `a${i}`,
      image: "x",
      ...(hook && { lifecycle: { preStop: { sleep: { seconds: 1 } } } }),
    })),
  }));

test("from anything that can happen, a pod comes to what it should be", () => {
  fc.assert(
    fc.property(specs, fc.integer(), fc.integer({ min: 0, max: 40 }), fc.boolean(), (spec, seed, troubled, deletes) => {
      const pod = podOf(spec);
      const world = new World(pod, seededRandom(seed), 0.3);
      let status = pod.status;
      for (let step = 0; step < troubled + 3000; step++) {
        if (step === troubled) {
          world.chaos = 0;
          world.deleted = deletes;
        }
        const plan = world.plan();
        for (const action of plan.actions) world.begin(action);
        const before = status;
        status = world.status(plan, before);
        if (before.phase === "Failed" || before.phase === "Succeeded") assert.equal(status.phase, before.phase);
        if (plan.isFinished) {
          assert.ok(!world.containers.some(({ phase }) => phase === "running"), "finished, and yet something runs");
          assert.ok(status.phase === "Failed" || status.phase === "Succeeded", `finished as ${status.phase}`);
          return;
        }
        assert.ok(status.phase === "Pending" || status.phase === "Running", `${status.phase} before it is over`);
        const isSteady = step > troubled && plan.actions.length === 0 && plan.wakeAt === Number.POSITIVE_INFINITY;
        if (
          isSteady &&
          pod.spec.restartPolicy === "Always" &&
          !deletes &&
          world.starting.size === 0 &&
          !world.sandboxWork
        ) {
          const running = world.containers.filter(({ phase }) => phase === "running").map(({ name }) => name);
          const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
          const wanted = [...pod.spec.containers, ...sidecars].map(({ name }) => name);
          if (running.toSorted().join() === wanted.toSorted().join()) {
            assert.equal(status.phase, "Running");
            assert.equal(status.conditions?.find(({ type }) => type === "Ready")?.status, "True");
            return;
          }
        }
        world.step();
      }
      assert.fail("it never comes to an end");
    }),
    { numRuns: 400 },
  );
});

test("whenever kubelets are replaced, each container runs once and the pod succeeds", () => {
  fc.assert(
    fc.property(specs, fc.integer(), fc.array(fc.boolean(), { maxLength: 60 }), (spec, seed, replaces) => {
      const pod = podOf({ ...spec, restartPolicy: "Never" });
      const world = new World(pod, seededRandom(seed), 0);
      let status = pod.status;
      for (let step = 0; step < 3000; step++) {
        if (replaces[step]) world.replaceKubelet();
        const plan = world.plan();
        for (const action of plan.actions) world.begin(action);
        status = world.status(plan, status);
        if (plan.isFinished) {
          const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name);
          assert.deepEqual(world.ran.toSorted(), all.toSorted());
          assert.equal(status.phase, "Succeeded");
          return;
        }
        world.step();
      }
      assert.fail("it never comes to an end");
    }),
    { numRuns: 400 },
  );
});
