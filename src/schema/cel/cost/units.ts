// What things cost, in cel-go's units (common/cost.go). The same numbers hold for estimates and for what is counted at run time.

export const baseCosts = {
  /** A variable, a field, an index that is a literal. */
  selectAndIdent: 1,
  listCreate: 10,
  mapCreate: 30,
  structCreate: 40,
} as const;

/** For each character of a string that is gone through. */
export const perCharacter = 0.1;
/** For each character of a regular expression: a guess at how many parts it has. */
export const perPatternCharacter = 0.25;
/** An authorization check is expensive: it searches all rules. */
export const authorizationCheck = 350_000;
/** The longest regular expression of a named format. */
export const longestFormatPattern = 128;
/** The longest text of a named format. */
export const longestFormatName = 64;
