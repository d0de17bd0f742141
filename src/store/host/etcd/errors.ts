// What etcd's errors mean to a caller. Texts as in etcd's api/v3rpc/rpctypes.
import { RpcError, rpcCode } from "./transport.ts";

export const isCompacted = (error: unknown): boolean =>
  hasText(error, "etcdserver: mvcc: required revision has been compacted");
export const isFutureRevision = (error: unknown): boolean =>
  hasText(error, "etcdserver: mvcc: required revision is a future revision");
export const isNoSpace = (error: unknown): boolean => hasText(error, "etcdserver: mvcc: database space exceeded");
export const isLeaseNotFound = (error: unknown): boolean => hasText(error, "etcdserver: requested lease not found");
export const isCorrupt = (error: unknown): boolean => error instanceof RpcError && error.code === rpcCode.dataLoss;
export const isTimeout = (error: unknown): boolean =>
  error instanceof RpcError && error.code === rpcCode.deadlineExceeded;
/** Asking again, or another member, will not help. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof RpcError && (error.code === rpcCode.permissionDenied || /permission denied/.test(error.message));

/**
 * What is known after a call that failed:
 * - "answered": etcd has understood and refused; another member would say the same;
 * - "not done": it was certainly not carried out, and may be sent again, also a write;
 * - "unknown": it may or may not have been carried out; only a read may be sent again.
 */
export type CallOutcome = "answered" | "not done" | "unknown";

export function outcomeOf(error: unknown): CallOutcome {
  if (!(error instanceof RpcError)) return "answered";
  if (notDone.has(error.message) || neverSent.test(error.message)) return "not done";
  if (isNoSpace(error) || tooLarge.test(error.message)) return "answered";
  return unknownOutcome.has(error.code) ? "unknown" : "answered";
}

/** Said before a request is proposed to the cluster. */
const notDone = new Set([
  "etcdserver: no leader",
  "etcdserver: too many requests",
  "etcdserver: rpc not supported for learner",
  "raft proposal dropped",
]);

/** How gRPC says that there was no connection to send anything on. */
const neverSent = /^(No connection established|Name resolution failed|no connection within)/;

/** Said by gRPC at the server, which has then not looked at the request. */
const tooLarge = /received message larger than max/;

const unknownOutcome: ReadonlySet<number> = new Set([
  rpcCode.cancelled,
  rpcCode.unknown,
  rpcCode.deadlineExceeded,
  rpcCode.resourceExhausted,
  rpcCode.aborted,
  rpcCode.internal,
  rpcCode.unavailable,
]);

const hasText = (error: unknown, text: string) => error instanceof RpcError && error.message === text;
