// A request for a certificate says who makes it, and changes no more: it is decided through `approval`, and signed through `status`.
// Upstream: pkg/registry/certificates/certificates/strategy.go.
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "#api/certificates/v1/certificate-signing-request.ts";
import { checkDecisions, checkDecisionUpdate, signatureProblems } from "#api/certificates/v1/checks.ts";
import { excluding } from "#schema/apply/filter.ts";
import type { ApiObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { problemsOf } from "#schema/validate.ts";
import type { Strategy } from "../registry/strategy.ts";

type Conditions = readonly CertificateSigningRequestCondition[];

export const certificateSigningRequest: Strategy = {
  unowned: { object: ["spec"], status: ["status.conditions"] },
  prepareForCreate(object, { user }) {
    const { uid: _uid, extra: _extra, ...spec } = object.spec;
    object.spec = {
      ...spec,
      username: user.name,
      groups: [...user.groups],
      ...(user.uid && { uid: user.uid }),
      ...(user.extra && Object.keys(user.extra).length > 0 && { extra: user.extra }),
    };
  },
  verify: ({ spec }) => signatureProblems("spec.request", spec?.request),
  prepareForUpdate(object, old) {
    object.spec = old.spec;
  },
  prepareForStatusUpdate(object, old, { clock }) {
    const conditions = withDecisionsOf(object.status.conditions, old.status.conditions);
    setConditions(object.status, dated(conditions, old.status.conditions, timeOf(clock.now())));
  },
  parts: {
    approval: {
      prepare(object, old, { clock }) {
        const conditions = dated(object.status.conditions, old.status.conditions, timeOf(clock.now()));
        object.spec = old.spec;
        object.status = { ...old.status };
        setConditions(object.status, conditions);
      },
      problems(object, old) {
        const [now, before] = [
          object as ApiObject & CertificateSigningRequest,
          old as ApiObject & CertificateSigningRequest,
        ];
        return [
          ...problemsOf(now, checkDecisions(now.status.conditions, before.status.conditions)),
          ...problemsOf(now, checkDecisionUpdate(now.status.conditions, before.status.conditions, "approval")),
        ];
      },
      owned: excluding("spec", "status.certificate"),
    },
  },
};

/** A signer may not decide: decisions are put back as they were, unless some were added or taken away, which is refused. */
function withDecisionsOf(conditions: Conditions = [], old: Conditions = []): Conditions {
  const result = [...conditions];
  for (const type of ["Approved", "Denied"]) {
    const places = [...result.entries()].filter(([, condition]) => condition.type === type).map(([index]) => index);
    const before = old.filter((condition) => condition.type === type);
    if (places.length !== before.length) continue;
    for (const [i, place] of places.entries()) result[place] = before[i] as CertificateSigningRequestCondition;
  }
  return result;
}

/** Says when, where the client does not. */
const dated = (conditions: Conditions = [], old: Conditions = [], now: string): Conditions => {
  const states = new Map(old.toReversed().map((condition) => [stateOf(condition), condition]));
  return conditions.map((condition) => {
    const same = states.get(stateOf(condition));
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? same?.lastTransitionTime ?? now,
    };
  });
};
const stateOf = ({ type, status }: CertificateSigningRequestCondition): string => `${status} ${type}`;

function setConditions(status: { conditions?: Conditions }, conditions: Conditions): void {
  if (conditions.length > 0) status.conditions = conditions;
  else delete status.conditions;
}
