/**
 * Why an evaluation has no value. It is thrown, but it is no Error: `a || b` and `all()` go on after one, perhaps a million times, and
 * none of them needs a stack. It does not leave the engine: `Program.evaluate` makes an EvaluationError of it.
 */
export class EvaluationFailure {
  readonly message: string;
  /** Ends the whole evaluation: `||`, `&&` and comprehensions do not go on after it. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = false) {
    this.message = message;
    this.isFinal = isFinal;
  }
}

export function fail(message: string): never {
  throw new EvaluationFailure(message);
}

export function noSuchOverload(): never {
  throw new EvaluationFailure("no such overload");
}

export function conversionFailure(from: string, to: string): never {
  throw new EvaluationFailure(`type conversion error from '${from}' to '${to}'`);
}
