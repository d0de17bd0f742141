// Reviews by a server: of tokens, of access and of images. Each is an object that is posted, and comes back with its status.
import type { Clock } from "#base/clock.ts";
import { isObject } from "#base/is-object.ts";
import { retry } from "#base/retry.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import { serverAnswerError } from "./server-answer.ts";
import type { WebhookAnswer } from "./transport.ts";

export interface ReviewResult {
  readonly status: Readonly<Record<string, unknown>>;
}

/** Throws where the server does not answer, or not with a review. */
export type ReviewWebhook = (review: ReviewRequestObject) => Promise<ReviewResult>;

export interface ReviewRequestObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: object;
  readonly spec: object;
}

export interface ReviewOptions {
  readonly post: (body: string, timeoutMs: number) => Promise<WebhookAnswer>;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The first wait before it is asked again; as upstream by default. */
  readonly retryMs?: number;
  /** How often it is asked at most. */
  readonly tries?: number;
}

export function reviewWebhook({ post, timeoutMs, clock, retryMs = 500, tries = 5 }: ReviewOptions): ReviewWebhook {
  const { signal } = new AbortController();
  return (review) => {
    const body = JSON.stringify(review);
    const ask = async (): Promise<ReviewResult> => {
      const answer = await post(body, timeoutMs);
      if (answer.code < 200 || answer.code > 206) throw new ReviewError(serverAnswerError(answer).message, answer.code);
      return reviewIn(answer.text, review);
    };
    const backoff = { firstMs: retryMs, maxMs: retryMs * 10, factor: 1.5, tries, clock };
    return retry(ask, { ...backoff, when: (error) => !(error instanceof ReviewError) || error.isPassing }, signal);
  };
}

class ReviewError extends Error {
  override readonly name = "ReviewError";
  /** Whether another try may help. */
  readonly isPassing: boolean;

  constructor(message: string, code: number) {
    super(message);
    this.isPassing = code === 429 || code >= 500;
  }
}

/** An answer of another kind is no answer: a server that echoes anything must not be taken for one that lets people in. */
function reviewIn(text: string, { kind, apiVersion }: ReviewRequestObject): ReviewResult {
  let value: unknown;
  try {
    ({ value } = parseJson(text));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new ReviewError(`the webhook did not answer with JSON: ${error.message}`, 200);
  }
  const answer = value as Readonly<Record<string, unknown>> | null;
  if (!isObject(answer) || answer.kind !== kind || answer.apiVersion !== apiVersion)
    throw new ReviewError(`the webhook did not answer with a ${kind} of ${apiVersion}`, 200);
  return { status: isObject(answer.status) ? (answer.status as ReviewResult["status"]) : {} };
}
