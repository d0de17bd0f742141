// The life of a request: received, answered, and ended. Watches and connections are answered long before they end. Metrics, the audit log
// and fairness follow it.
import type { ApiResponse, WatchEvent } from "#wire/api-request.ts";
import { type HttpRequest, type HttpResponse, isParts, isStream, type Parts } from "#wire/http.ts";

/** How a request ended: with an answer, because the client left, or by a fault of this server. */
export type Outcome = "complete" | "aborted" | "panicked";

export interface AnswerFacts {
  readonly code: number;
  /** Bytes of the body; undefined where they are not counted. */
  readonly size?: number | undefined;
  /** Whether it goes on after this, as a watch does. */
  readonly isLasting: boolean;
}

export interface LifeListener {
  /** Called once at most, before the end. */
  answered?(answer: AnswerFacts): void;
  /** Called exactly once. */
  ended?(outcome: Outcome): void;
}

/** A larger answer takes a while to send, and keeps what it holds of the server until it has been. */
const mostAtOnce = 128 * 1024;

export class RequestLife {
  readonly #listeners: LifeListener[] = [];
  #hasEnded = false;

  /** Listeners are called in the order in which they came. */
  follow(listener: LifeListener): void {
    this.#listeners.push(listener);
  }

  /** The answer as it is to be sent. One that lasts tells when it ends; all others have ended with this. */
  answeredOverHttp(response: HttpResponse, request: HttpRequest): HttpResponse {
    const { code, body, upgraded } = response;
    if (!upgraded && !isStream(body)) {
      this.#answered({ code, size: isParts(body) ? body.size : body.length, isLasting: false });
      if (isParts(body) && body.size > mostAtOnce) {
        this.#followClient(request);
        return { ...response, body: this.#untilTaken(body) };
      }
      this.ended("complete");
      return response;
    }
    this.#answered({ code, isLasting: true });
    this.#followClient(request);
    if (upgraded)
      return { ...response, upgraded: (connection) => upgraded(connection).finally(() => this.ended("complete")) };
    return isStream(body) ? { ...response, body: this.#untilEnd(body) } : response;
  }

  /** The same for a part of this process. */
  answeredInProcess(response: ApiResponse): ApiResponse {
    const { type } = response;
    if (type !== "watch") {
      this.#answered({ code: type === "list" ? 200 : response.code, isLasting: false });
      this.ended("complete");
      return response;
    }
    this.#answered({ code: 200, isLasting: true });
    return { ...response, events: this.#untilEnd<readonly WatchEvent[]>(response.events) };
  }

  refused(code: number): void {
    this.#answered({ code, isLasting: false });
    this.ended("complete");
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** May be called more than once: the first call says how it ended. */
  ended(outcome: Outcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const listener of this.#listeners) listener.ended?.(outcome);
  }

  #answered(answer: AnswerFacts): void {
    for (const listener of this.#listeners) listener.answered?.(answer);
  }

  #followClient({ signal }: HttpRequest): void {
    if (signal.aborted) this.ended("aborted");
    else signal.addEventListener("abort", () => this.ended("aborted"), { once: true });
  }

  /** The same parts. When the last has been taken the request is over, and so it is when no more of them are wanted. */
  #untilTaken(parts: Parts): Parts {
    const taken = function* (this: RequestLife): Generator<Uint8Array> {
      try {
        yield* parts;
      } finally {
        this.ended("complete");
      }
    };
    return { size: parts.size, [Symbol.iterator]: () => taken.call(this) };
  }

  /** The same stream. Its end is the end of the request, and so is a reader who wants no more of it. */
  #untilEnd<T>(stream: AsyncIterable<T>): AsyncIterable<T> {
    return {
      [Symbol.asyncIterator]: () => {
        const inner = stream[Symbol.asyncIterator]();
        return {
          next: () =>
            inner.next().then(
              (result) => {
                if (result.done) this.ended("complete");
                return result;
              },
              (error: unknown) => {
                this.ended("aborted");
                throw error;
              },
            ),
          return: async () => {
            this.ended("aborted");
            return (await inner.return?.()) ?? { done: true, value: undefined };
          },
        };
      },
    };
  }
}
