// The binder against a plain model of it, on many small random clusters; and against itself, where two controller managers with old
// caches work at once and are killed between any two writes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { silentLog } from "#base/log.ts";
import { type Random, seededRandom } from "#base/random.ts";
import { Cache } from "#client/cache.ts";
import { Client } from "#client/client.ts";
import { type CacheView, cacheView, type Reconcile } from "#client/controller.ts";
import { keyOfObject } from "#client/object-key.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { boundTo, claimKey } from "#rules/volumes.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { boundClaim, boundStatus } from "./bind.ts";
import { claimBinder } from "./claim-binder.ts";
import { type BindingFacts, planClaim } from "./claim-plan.ts";
import { volumeBinder } from "./volume-binder.ts";
import { matchVolume } from "./volume-match.ts";
import { planVolume } from "./volume-plan.ts";

const sets = 10_000;
const races = 150;
const accessModes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"] as const;
const classes = ["", "", "slow", "slow", "fast", "late"] as const;

const below = (random: Random, count: number) => Math.floor(random.next() * count);
const pick = <T>(random: Random, values: readonly T[]): T => values[below(random, values.length)]!;
const some = <T>(random: Random, values: readonly T[]): readonly T[] => {
  const chosen = values.filter(() => random.next() < 0.5);
  return chosen.length > 0 ? chosen : [values[0]!];
};
const chance = (random: Random, of: number) => random.next() < of;

/** Sizes of volumes differ, so that there is one smallest. */
function randomVolume(random: Random, i: number): Draft<PersistentVolume> {
  const storageClassName = pick(random, classes);
  return {
    metadata: { name: `v${i}`, uid: `volume-${i}`, labels: { tier: pick(random, ["a", "b"]) } },
    spec: {
      capacity: { storage: `${1 + below(random, 5) * 10 + i}Gi` },
      accessModes: [...some(random, accessModes)],
      storageClassName,
      volumeMode: chance(random, 0.15) ? "Block" : "Filesystem",
      hostPath: { path: "/x" },
      ...(chance(random, 0.2) && { claimRef: { namespace: "default", name: `c${below(random, 6)}` } }),
    },
  };
}

function randomClaim(random: Random, i: number, volumes: number): Draft<PersistentVolumeClaim> {
  return {
    metadata: { namespace: "default", name: `c${i}`, uid: `claim-${i}` },
    spec: {
      accessModes: [...some(random, accessModes).slice(0, chance(random, 0.2) ? 2 : 1)],
      resources: { requests: { storage: `${1 + below(random, 25)}Gi` } },
      storageClassName: pick(random, classes),
      volumeMode: chance(random, 0.15) ? "Block" : "Filesystem",
      ...(chance(random, 0.2) && { selector: { matchLabels: { tier: pick(random, ["a", "b"]) } } }),
      ...(chance(random, 0.15) && { volumeName: `v${below(random, volumes + 1)}` }),
    },
  };
}

const storageClasses: readonly Draft<StorageClass>[] = [
  { metadata: { name: "slow" }, provisioner: "kubernetes.io/no-provisioner" },
  { metadata: { name: "fast" }, provisioner: "example.com/maker" },
  { metadata: { name: "late" }, provisioner: "example.com/maker", volumeBindingMode: "WaitForFirstConsumer" },
];

/** Objects with what a server would fill in. */
function complete<K extends AnyKind>(kind: K, draft: Draft<Infer<K>>): Infer<K> {
  const object = structuredClone({ apiVersion: kind.apiVersion, kind: kind.kind, ...(draft as object) });
  applyDefaults(kind, object as never);
  return object as unknown as Infer<K>;
}

/** Which volume a claim has in the end: the rules once more, as short as they can be said. */
function modelOf(claims: readonly Draft<PersistentVolumeClaim>[], volumes: readonly Draft<PersistentVolume>[]) {
  const taken = new Map<string, string>();
  const size = (text = "0Gi") => Number(text.slice(0, -2));
  for (const { metadata, spec } of claims) {
    const name = metadata!.name!;
    const fits = ({ spec: v, metadata: m }: Draft<PersistentVolume>) =>
      !taken.has(m!.name!) &&
      size(v!.capacity!.storage) >= size(spec!.resources!.requests!.storage) &&
      v!.volumeMode === spec!.volumeMode &&
      spec!.accessModes!.every((mode) => v!.accessModes!.includes(mode));
    const isNamed = ({ spec: v }: Draft<PersistentVolume>) => v!.claimRef?.name === name;
    const isClass = ({ spec: v }: Draft<PersistentVolume>) => v!.storageClassName === spec!.storageClassName;
    const isSelected = ({ metadata: m }: Draft<PersistentVolume>) =>
      !spec!.selector || m!.labels!.tier === spec!.selector.matchLabels!.tier;
    if (spec!.volumeName) {
      const wanted = volumes.find((volume) => volume.metadata!.name === spec!.volumeName);
      if (!wanted || taken.has(spec!.volumeName)) continue;
      if (isNamed(wanted) || (!wanted.spec!.claimRef && fits(wanted) && isClass(wanted)))
        taken.set(spec!.volumeName, name);
      continue;
    }
    const named = volumes.find((volume) => isNamed(volume) && fits(volume));
    const rest = volumes.filter(
      (volume) => !volume.spec!.claimRef && fits(volume) && isClass(volume) && isSelected(volume),
    );
    const [best] =
      spec!.storageClassName === "late"
        ? []
        : rest.toSorted(
            (a, b) =>
              a.spec!.accessModes!.length - b.spec!.accessModes!.length ||
              size(a.spec!.capacity!.storage) - size(b.spec!.capacity!.storage),
          );
    const chosen = named ?? best;
    if (chosen) taken.set(chosen.metadata!.name!, name);
  }
  return taken;
}

function cachesOf(objects: readonly (readonly [AnyKind, object])[]) {
  const caches = new Map<AnyKind, Cache<never>>();
  const cacheOf = <K extends AnyKind>(kind: K) => {
    const cache = caches.get(kind) ?? new Cache<never>();
    caches.set(kind, cache);
    return cache as unknown as Cache<Infer<K>>;
  };
  for (const [kind, object] of objects) cacheOf(kind).set(keyOfObject(object), object as Infer<typeof kind>);
  return { cacheOf, view: cacheView(cacheOf) };
}

const factsOf = (cache: CacheView): BindingFacts => ({
  storageClass: (name) => cache.get(StorageClass, { name }),
  defaultClass: () => undefined,
  volume: (name) => cache.get(PersistentVolume, { name }),
  match: (claim, onlyNamed) => matchVolume(claim, onlyNamed, cache, () => true),
  waitingPods: () => [],
});

test(`claims get the volumes that a plain model gives them, in ${sets} random clusters`, () => {
  const random = seededRandom(16);
  const made = storageClasses.map((one) => [StorageClass, complete(StorageClass, one)] as const);
  let bound = 0;
  for (let i = 0; i < sets; i++) {
    const volumes = Array.from({ length: below(random, 8) }, (_, j) => randomVolume(random, j));
    const claims = Array.from({ length: 1 + below(random, 5) }, (_, j) => randomClaim(random, j, volumes.length));
    const { cacheOf, view } = cachesOf([
      ...made,
      ...volumes.map(
        (one) => [PersistentVolume, complete(PersistentVolume, { ...one, status: { phase: "Available" } })] as const,
      ),
      ...claims.map((one) => [PersistentVolumeClaim, complete(PersistentVolumeClaim, one)] as const),
    ]);
    const [storedVolumes, storedClaims] = [cacheOf(PersistentVolume), cacheOf(PersistentVolumeClaim)];
    for (const { metadata } of claims) {
      const claim = storedClaims.get(`default/${metadata!.name}`)!;
      const plan = planClaim(claim, factsOf(view));
      if (plan.type !== "bind") continue;
      const volume = { ...boundTo(plan.volume, claim), status: { phase: "Bound" as const } };
      storedVolumes.set(volume.metadata.name, volume);
      const mine = boundClaim(claim, volume.metadata.name);
      storedClaims.set(claimKey(mine), { ...mine, status: boundStatus(mine, volume) });
    }
    const expected = modelOf(claims, volumes);
    const found = storedVolumes
      .list()
      .flatMap(({ metadata, spec }) => (spec.claimRef?.uid ? [[metadata.name, spec.claimRef.name]] : []));
    const show = () => JSON.stringify({ claims, volumes }, undefined, 1);
    assert.deepEqual(new Map(found as [string, string][]), new Map([...expected].sort()), show());
    for (const volume of storedVolumes.list()) {
      const { claimRef } = volume.spec;
      const claim = claimRef?.uid ? storedClaims.get(`default/${claimRef.name}`) : undefined;
      const phase = claim ? "Bound" : "Available";
      assert.deepEqual(planVolume(volume, claim), { type: "phase", phase }, show());
    }
    bound += expected.size;
  }
  assert.ok(bound > sets / 4, `only ${bound} claims were bound`);
});

/** A controller manager with a cache of its own, which sees what happens only now and then, and a process that may end at any write. */
function manager(w: ClientWorld, random: Random) {
  const kinds = [PersistentVolume, PersistentVolumeClaim, StorageClass, Pod] as const;
  let view = cachesOf([]).view;
  let isDoomed = false;
  const client = new Client({
    user: { name: "manager", groups: [] },
    userAgent: "manager/1",
    signal: new AbortController().signal,
    async transport(request) {
      const isWrite = request.verb !== "get";
      if (isWrite && isDoomed && chance(random, 0.3)) throw new Error("killed before a write");
      const answer = await w.transport(request);
      if (isWrite && isDoomed && chance(random, 0.3)) throw new Error("killed after a write");
      return answer;
    },
  });
  const context = (): Reconcile => ({
    client,
    cache: view,
    clock: w.clock,
    random,
    signal: client.signal,
    log: silentLog,
    event: () => undefined,
  });
  const claimsController = claimBinder();
  return {
    see() {
      view = cachesOf(kinds.flatMap((kind) => w.list(kind).map((object) => [kind, object] as const))).view;
    },
    /** Looks at everything once, in some order; what fails is left for later. */
    async look(mayDie: boolean): Promise<void> {
      isDoomed = mayDie;
      const work = [
        ...view.list(PersistentVolume).map((one) => () => volumeBinder.reconcile(one, context())),
        ...view.list(PersistentVolumeClaim).map((one) => () => claimsController.reconcile(one, context())),
      ].map((run) => ({ run, order: random.next() }));
      for (const { run } of work.sort((a, b) => a.order - b.order)) {
        try {
          await run();
        } catch (error) {
          const known = error instanceof Error && /killed|modified|invalid binding/.test(error.message);
          if (!known) throw error;
        }
      }
    },
  };
}

/** No volume is two claims': neither do two claims name it for good, nor does it name one that has another. */
function checkBindings(w: ClientWorld, seed: number): void {
  const owners = new Map<string, string>();
  for (const claim of w.list(PersistentVolumeClaim)) {
    const { volumeName } = claim.spec;
    if (!volumeName || claim.metadata.annotations?.["pv.kubernetes.io/bind-completed"] === undefined) continue;
    const other = owners.get(volumeName);
    assert.equal(other, undefined, `seed ${seed}: ${volumeName} is ${other}'s and ${claimKey(claim)}'s`);
    owners.set(volumeName, claimKey(claim));
    const volume = w.get(PersistentVolume, { name: volumeName });
    assert.equal(volume?.spec.claimRef?.uid, claim.metadata.uid, `seed ${seed}: ${volumeName}`);
  }
}

test(`no volume is ever given to two claims by two controller managers that are killed at any write, ${races} times`, async () => {
  for (let seed = 1; seed <= races; seed++) {
    const random = seededRandom(seed);
    const w = world();
    for (const one of storageClasses) w.have(StorageClass, one);
    const volumes = 2 + below(random, 4);
    for (let i = 0; i < volumes; i++) w.have(PersistentVolume, randomVolume(random, i));
    for (let i = 0; i < 6; i++) w.have(PersistentVolumeClaim, { ...randomClaim(random, i, volumes) });
    const managers = [manager(w, random), manager(w, random)];
    for (let step = 0; step < 4; step++)
      await Promise.all(
        managers.map(async (one) => {
          if (chance(random, 0.7)) one.see();
          await one.look(true);
          checkBindings(w, seed);
        }),
      );
    const [last] = managers;
    for (let i = 0; i < 4; i++) {
      last!.see();
      await last!.look(false);
    }
    checkBindings(w, seed);
    w.writes();
    last!.see();
    await last!.look(false);
    assert.deepEqual(w.writes(), [], `seed ${seed}: it comes to rest`);
    for (const { metadata, spec, status } of w.list(PersistentVolume)) {
      const claim = w.get(PersistentVolumeClaim, { name: spec.claimRef?.name ?? "" });
      const isWhole = claim?.spec.volumeName === metadata.name && claim.status.phase === "Bound";
      if (spec.claimRef?.uid)
        assert.deepEqual([isWhole, status.phase], [true, "Bound"], `seed ${seed}: ${metadata.name}`);
      else assert.equal(status.phase, "Available", `seed ${seed}: ${metadata.name}`);
    }
  }
});
