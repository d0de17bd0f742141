import type { CelValue } from "./value.ts";

/** A value that may be missing, as `a.?b` makes it. */
export class OptionalValue {
  readonly kind = "optional";
  readonly value: CelValue | undefined;

  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

export const none = new OptionalValue(undefined);
