// What one evaluation has at hand: variables, the local variables of comprehensions, and what it may still cost.
import { EvaluationFailure } from "./values/failure.ts";
import type { CelValue } from "./values/value.ts";

/** The values of the variables; a Map is one. */
export interface Activation {
  get(name: string): CelValue | undefined;
}

export class Frame {
  readonly variables: Activation;
  /** Of comprehensions, by the place that the planner gave them. An accumulator may hold why it has no value. */
  readonly locals: (CelValue | EvaluationFailure)[];
  cost = 0;
  readonly #limit: number;

  constructor(variables: Activation, localCount: number, limit: number) {
    this.variables = variables;
    const locals: CelValue[] = [];
    for (let i = 0; i < localCount; i++) locals.push(null);
    this.locals = locals;
    this.#limit = limit;
  }

  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.#limit) throw new EvaluationFailure("operation cancelled: actual cost limit exceeded", true);
  }
}

/** A part of an expression, ready to be evaluated. */
export type Step = (frame: Frame) => CelValue;
