// How tokens of other issuers are believed, and whom they name: what AuthenticationConfiguration and the flags --oidc-* say, read.
import type { UserClaims } from "./claims.ts";

/** A value that tokens are asked for: one claim as it is, or what an expression makes of all claims. */
export type ClaimReader = (claims: UserClaims) => unknown;

/** A mapping by the name of a claim keeps upstream's older rules, such as those for e-mail addresses. */
export type ClaimMapping =
  | { readonly type: "claim"; readonly claim: string; readonly prefix: string }
  | { readonly type: "expression"; readonly text: string; readonly evaluate: ClaimReader };

export interface ClaimRule {
  /** Why a token is refused that it does not hold for; undefined if it holds. */
  readonly refusalOf: (claims: UserClaims) => string | undefined;
}

/** What an expression about a user is told of. */
export interface MappedUser {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface UserRule {
  readonly text: string;
  readonly message: string;
  readonly evaluate: (user: MappedUser) => unknown;
}

export interface JwtSettings {
  readonly issuer: {
    readonly url: string;
    /** Where the issuer's document is; below its URL by default. */
    readonly discoveryUrl: string | undefined;
    /** Authorities of its certificate, in PEM; those of the machine by default. */
    readonly certificateAuthority: string | undefined;
    readonly audiences: readonly string[];
  };
  readonly algorithms: readonly string[];
  readonly claimRules: readonly ClaimRule[];
  readonly username: ClaimMapping;
  readonly groups: ClaimMapping | undefined;
  readonly uid: ClaimMapping | undefined;
  readonly extra: readonly { readonly key: string; readonly text: string; readonly evaluate: ClaimReader }[];
  readonly userRules: readonly UserRule[];
}

export const allAlgorithms: readonly string[] = [
  ...["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"],
];

/** Compiles what a configuration says in CEL. Throws an Error that says what is wrong with the text. */
export interface ExpressionCompiler {
  /** The variable is what the expression is about. */
  compile(text: string, variable: "claims" | "user", results: readonly ("bool" | "string" | "list")[]): Evaluate;
}
export type Evaluate = (value: unknown) => unknown;
