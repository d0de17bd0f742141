import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";

type Serve = (request: ApiRequest) => Promise<ApiResponse>;

/** The requests that parts of a server make to it. They are made before it is, so they get the way to it first. */
export class OwnRequests {
  #serve: Serve | undefined;

  /** To be called once, before any part runs. */
  connect(serve: Serve): void {
    this.#serve = serve;
  }

  readonly request: Serve = (request) => {
    if (!this.#serve) throw new Error("a part of the server makes a request before there is a server");
    return this.#serve(request);
  };
}
