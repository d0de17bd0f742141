// Which webhooks are asked a second time, because another one or a plugin has changed the object after them.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/reinvocationcontext.go.
import { equal } from "#base/collections.ts";
import { copyJson } from "#schema/apply/value.ts";
import type { DraftObject } from "#schema/object.ts";

export class WebhookRounds {
  /** Asked since the last change, and willing to be asked again. */
  #asked = new Set<string>();
  readonly #again = new Set<string>();
  #last: DraftObject | undefined;

  asked(hook: string): void {
    this.#asked.add(hook);
  }

  /** The object has changed: whoever was asked before has not seen that. */
  changed(): void {
    for (const hook of this.#asked) this.#again.add(hook);
    this.#asked = new Set();
  }

  /** The end of a round. The object need only be remembered if there is someone to be asked again. */
  end(object: DraftObject | undefined): void {
    if (this.#asked.size > 0 || this.#again.size > 0) this.#last = object && copyJson(object);
  }

  /** The second round: plugins may have changed the object since the end of the first. */
  beginAgain(object: DraftObject | undefined): void {
    if (!equal(this.#last, object)) this.changed();
  }

  mayAskAgain(hook: string): boolean {
    return this.#again.has(hook);
  }
}
