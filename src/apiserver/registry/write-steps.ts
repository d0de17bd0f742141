// What every write of a client goes through between its verb and the store. The order is said here, and nowhere else:
//
//   1. default    the verb decodes the body and fills it in the version that was sent, since managedFields name defaults, too (verbs/body.ts)
//   2. track      the verb notes in managedFields what the writer owns, and converts to the stored version (verbs/tracking.ts)
//   3. admit      admission may change the object; then a guard judges what authorization cannot from the address alone
//   4. reserve    the object takes what no two may share, such as the address of a service (kinds with a reserver only)
//   5. prepare    the kind's strategy sets what clients may not set, and undoes what they may not change
//   6. default    fills what steps 3 to 5 left open, in the stored version; what was filled before stays as it is
//   7. validate   finds all that is wrong, and warns of what is allowed but unwise
//   8. admit      admission may refuse, and changes nothing any more
//   9. commit     a conditional put (registry.ts). If another write came between, an update begins again before step 1
//
// Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, staging/src/k8s.io/apiserver/pkg/registry/rest/update.go and
// staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go.
import { shownAsUpstream } from "#api/internal-form.ts";
import { turn } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { type Problem, problemText, tooLong } from "#schema/problem.ts";
import { validateObject, validateStatus } from "#schema/validate.ts";
import { maxKeyBytes } from "#store/key.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { invalidObject } from "#wire/status.ts";
import type { StoredObject } from "../stored.ts";
import type { Admission, AdmissionCall } from "./admission.ts";
import { hasFailed, isUninitialized } from "./initialization.ts";
import {
  generatedName,
  isChanged,
  prepareForCreate,
  prepareForPartUpdate,
  prepareForStatusUpdate,
  prepareForUpdate,
  shareUnchanged,
} from "./prepare.ts";
import type { Reserver } from "./reservation.ts";
import type { StoreClaims } from "./store-claims.ts";
import type { Strategy } from "./strategy.ts";
import { warnOf } from "./warn-of.ts";

export interface WriteStepsOptions {
  readonly kind: AnyKind;
  readonly strategy: Strategy;
  readonly admission: Admission;
  readonly guard?: WriteGuard | undefined;
  readonly reserver?: Reserver | undefined;
  /** Where other servers learn what this one reserves; absent where there are none. */
  readonly claims?: StoreClaims | undefined;
  /** Waits until memory, from which reservers see what is taken, has every acknowledged write. */
  readonly caughtUp: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Refuses writes that authorization cannot judge from the address alone, by throwing ApiError. Sees what admission has made of them. */
export type WriteGuard = (
  request: ApiRequest,
  object: DraftObject,
  old: ApiObject | undefined,
) => Promise<void> | undefined;

/** What admission sees of an update through a subresource that is an object of its own, such as a Scale. */
export interface AdmissionView {
  of(object: ApiObject): ApiObject;
  /** Takes over what admission has made of the view. May refuse, by throwing ApiError. */
  apply(shown: ApiObject, object: DraftObject): void;
}

/** An object on its way in, in the stored version. */
export interface ObjectWrite {
  readonly call: AdmissionCall;
  /** Changed by the steps. */
  readonly object: DraftObject;
  /** What is stored, and to be replaced; undefined of a create. */
  readonly old: ApiObject | undefined;
  /** Defaults to the object itself. */
  readonly shownAs?: AdmissionView | undefined;
  /** Large objects are worked on in several turns of the event loop. */
  readonly isLarge: boolean;
}

export class WriteSteps {
  readonly #options: WriteStepsOptions;

  constructor(options: WriteStepsOptions) {
    this.#options = options;
  }

  /** Steps 3 and 4, then `finish`, which has the others done. What was reserved is given back if that fails. */
  async admitted(write: ObjectWrite, finish: () => Promise<StoredObject>): Promise<StoredObject> {
    const { admission, guard, reserver } = this.#options;
    const { call, object, old, shownAs, isLarge } = write;
    if (isLarge) await turn();
    const shown = shownAs && (shownAs.of(object as ApiObject) as DraftObject);
    const admitted = admission.mutate(call, shown ?? object);
    if (admitted) await admitted;
    if (shown) shownAs?.apply(shown as ApiObject, object);
    if (isLarge) await turn();
    call.request.trace?.mark("admit");
    const guarded = guard?.(call.request, object, old);
    if (guarded) await guarded;
    if (!reserver || call.request.subresource === "status") return finish();
    return this.#reserved(reserver, write, finish);
  }

  async #reserved(
    reserver: Reserver,
    { call: { request, dryRun }, object, old }: ObjectWrite,
    finish: () => Promise<StoredObject>,
  ): Promise<StoredObject> {
    const { claims, caughtUp } = this.#options;
    if (!old) await caughtUp(request.signal);
    const reservation =
      claims && !dryRun
        ? await claims.reserve(reserver, object, old, request.signal)
        : reserver.reserve(object, old, { isTrial: dryRun });
    let stored: StoredObject;
    try {
      stored = await finish();
    } catch (error) {
      await reservation.release();
      throw error;
    }
    await (dryRun ? reservation.release() : reservation.commit(stored.revision));
    return stored;
  }

  /** Steps 5 to 8. A create does them again with every name that it tries. */
  async checked(write: ObjectWrite): Promise<void> {
    const { kind, strategy, admission } = this.#options;
    const { call, object, old, shownAs, isLarge } = write;
    const { request } = call;
    this.#prepare(write);
    if (isLarge) await turn();
    applyDefaults(kind, object);
    if (old && request.verb === "patch") shareUnchanged(object, old);
    if (isLarge) await turn();
    const verified = !old && strategy.verify ? await strategy.verify(object as ApiObject) : [];
    this.#refuseInvalid(object, [...verified, ...this.#problems(write)]);
    if (isLarge) await turn();
    warnOf(strategy, call, object as ApiObject, old);
    request.trace?.mark("validate");
    const admitted = admission.validate(call, shownAs?.of(object as ApiObject) ?? (object as ApiObject));
    if (admitted) await admitted;
    request.trace?.mark("admit");
    if (isLarge) await turn();
  }

  /** Whether a write makes another object of the live one; later times of who owns what alone do not. */
  changes(live: ApiObject, object: DraftObject): boolean {
    return isChanged(live, object);
  }

  /** Whether an initializer has refused the object. */
  hasFailed(object: DraftObject): boolean {
    return hasFailed(object as ApiObject);
  }

  /** A name of the server's making. It may be taken. */
  generatedName(prefix: string): string {
    return generatedName(prefix, this.#options.random);
  }

  /** Refuses a key that the store has no room for. Most names are bounded by their form; those that may be any segment of a path are not. */
  refuseLongKey(object: DraftObject, key: string): void {
    if (key.length * 3 <= maxKeyBytes) return;
    const excess = new TextEncoder().encode(key).length - maxKeyBytes;
    const { length } = object.metadata.name ?? "";
    if (excess > 0) this.#refuseInvalid(object, [tooLong("metadata.name", Math.max(0, length - excess))]);
  }

  #prepare({ call: { request }, object, old }: ObjectWrite): void {
    const { kind, strategy, clock, random } = this.#options;
    const { subresource, user } = request;
    const context = { clock, random, user };
    const part = this.#partOf(request);
    if (!old) prepareForCreate(kind, strategy, object, context);
    else if (subresource === "status") prepareForStatusUpdate(kind, strategy, object, old, context);
    else if (part) prepareForPartUpdate(strategy, part, object, old, context);
    else prepareForUpdate(kind, strategy, object, old, context);
  }

  #problems({ call: { request }, object, old }: ObjectWrite): readonly Problem[] {
    const { kind, strategy } = this.#options;
    if (!old || (strategy.isFreeUntilInitialized && isUninitialized(old))) return validateObject(kind, object);
    const warn = (problem: Problem) => request.warn?.(problemText(problem));
    if (request.subresource === "status") return validateStatus(kind, object, old, warn);
    return this.#partOf(request)?.problems(object as ApiObject, old) ?? validateObject(kind, object, old, warn);
  }

  #partOf({ subresource }: ApiRequest) {
    return subresource === undefined ? undefined : this.#options.strategy.parts?.[subresource];
  }

  #refuseInvalid(object: DraftObject, problems: readonly Problem[]): void {
    if (problems.length === 0) return;
    const { kind } = this.#options;
    throw invalidObject(kind, object.metadata.name ?? "", shownAsUpstream(kind.struct, problems));
  }
}
