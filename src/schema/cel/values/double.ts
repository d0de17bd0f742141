/** A floating-point number; bare JavaScript numbers are integers here. */
export class Double {
  readonly kind = "double";
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}
