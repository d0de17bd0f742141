// What a front speaks TLS with: its certificate, and the authorities of its clients. Both can be replaced while it serves.
import { randomBytes } from "node:crypto";
import type { SecureContextOptions, Server } from "node:tls";
import { trustAsGo } from "#wire/host/trust.ts";
import { ClientAuthorities } from "./client-authorities.ts";
import type { FrontCertificates, HttpsOptions } from "./front.ts";
import { sniCallback } from "./server-names.ts";

const ticketKeyBytes = 48;

export class FrontTls {
  readonly nameCallback: ReturnType<typeof sniCallback> | undefined;
  readonly #spoken: SecureContextOptions;
  #authorities: ClientAuthorities;
  #common: SecureContextOptions;
  #pair: Pick<FrontCertificates, "cert" | "key">;

  constructor(options: HttpsOptions) {
    const { minVersion = "TLSv1.2", ciphers, certificateFor } = options;
    this.#spoken = { minVersion, ...(ciphers !== undefined && { ciphers, honorCipherOrder: true }) };
    this.#authorities = new ClientAuthorities(options);
    this.#common = this.#withAuthorities();
    this.#pair = { cert: options.cert, key: options.key };
    this.nameCallback = certificateFor && sniCallback(certificateFor, () => this.#common);
  }

  get authorities(): ClientAuthorities {
    return this.#authorities;
  }

  get context(): SecureContextOptions {
    return { ...this.#common, ...this.#pair };
  }

  /** Throws for what cannot be used, and changes nothing then. */
  renew(certificates: FrontCertificates, server: Server): void {
    const before = [this.#authorities, this.#common, this.#pair] as const;
    this.#authorities = new ClientAuthorities(certificates, true);
    this.#common = this.#withAuthorities();
    this.#pair = { cert: certificates.cert, key: certificates.key };
    try {
      server.setSecureContext(this.context);
    } catch (error) {
      [this.#authorities, this.#common, this.#pair] = before;
      throw error;
    }
    // A session that is resumed has its certificate checked by nobody: those of before are not.
    server.setTicketKeys(randomBytes(ticketKeyBytes));
  }

  #withAuthorities(): SecureContextOptions {
    const { pems } = this.#authorities;
    return { ...this.#spoken, ...(pems.length > 0 && { ca: [...pems], ...trustAsGo }) };
  }
}
