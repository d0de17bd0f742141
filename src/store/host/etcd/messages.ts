// The part of etcd's v3 API that the engine uses. Numbers as in etcd's api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto.
import {
  bool,
  bytes,
  type DecodedMessage,
  id,
  int,
  many,
  message,
  one,
  type ProtobufMessage,
  text,
  texts,
} from "#base/host/protobuf.ts";

/** A remote procedure: its path, and how its messages are written and read. */
export interface EtcdRpc<D, T> {
  readonly path: string;
  readonly request: ProtobufMessage<unknown, D>;
  readonly response: ProtobufMessage<T, unknown>;
}

const rpc = <D, T>(
  path: string,
  request: ProtobufMessage<unknown, D>,
  response: ProtobufMessage<T, unknown>,
): EtcdRpc<D, T> => ({
  path: `/etcdserverpb.${path}`,
  request,
  response,
});

export const ResponseHeader = message("ResponseHeader", { clusterId: id(1), revision: int(3) });
export type ResponseHeader = DecodedMessage<typeof ResponseHeader>;

export const KeyValue = message("KeyValue", {
  key: text(1),
  createRevision: int(2),
  modRevision: int(3),
  version: int(4),
  value: bytes(5),
  lease: id(6),
});
export type KeyValue = DecodedMessage<typeof KeyValue>;

const RangeRequest = message("RangeRequest", {
  key: text(1),
  rangeEnd: text(2),
  limit: int(3),
  revision: int(4),
  serializable: bool(7),
  keysOnly: bool(8),
  countOnly: bool(9),
});
const RangeResponse = message("RangeResponse", {
  header: one(1, ResponseHeader),
  kvs: many(2, KeyValue),
  more: bool(3),
  count: int(4),
});

const PutRequest = message("PutRequest", { key: text(1), value: bytes(2), lease: id(3) });
const PutResponse = message("PutResponse", { header: one(1, ResponseHeader) });

const DeleteRangeRequest = message("DeleteRangeRequest", { key: text(1), rangeEnd: text(2) });
const DeleteRangeResponse = message("DeleteRangeResponse", { header: one(1, ResponseHeader), deleted: int(2) });

/** Values of Compare.target; the result asked for is always EQUAL, which is 0. */
export const compareVersion = 0;
export const compareMod = 2;
const Compare = message("Compare", {
  target: int(2),
  key: text(3),
  version: int(4, { oneof: true }),
  modRevision: int(6, { oneof: true }),
});
const RequestOp = message("RequestOp", {
  range: one(1, RangeRequest),
  put: one(2, PutRequest),
  deleteRange: one(3, DeleteRangeRequest),
});
const ResponseOp = message("ResponseOp", {
  range: one(1, RangeResponse),
  put: one(2, PutResponse),
  deleteRange: one(3, DeleteRangeResponse),
});
const TxnRequest = message("TxnRequest", {
  compare: many(1, Compare),
  success: many(2, RequestOp),
  failure: many(3, RequestOp),
});
const TxnResponse = message("TxnResponse", {
  header: one(1, ResponseHeader),
  succeeded: bool(2),
  responses: many(3, ResponseOp),
});
export type TxnResponse = DecodedMessage<typeof TxnResponse>;

const CompactionRequest = message("CompactionRequest", { revision: int(1), physical: bool(2) });
const CompactionResponse = message("CompactionResponse", { header: one(1, ResponseHeader) });

const WatchCreateRequest = message("WatchCreateRequest", {
  key: text(1),
  rangeEnd: text(2),
  startRevision: int(3),
  progressNotify: bool(4),
  prevKv: bool(6),
  fragment: bool(8),
});
const WatchProgressRequest = message("WatchProgressRequest", {});
const WatchRequest = message("WatchRequest", {
  create: one(1, WatchCreateRequest),
  progress: one(3, WatchProgressRequest),
});

/** Values of Event.type. */
export const eventDelete = 1;
export const Event = message("Event", { type: int(1), kv: one(2, KeyValue), prevKv: one(3, KeyValue) });
export type Event = DecodedMessage<typeof Event>;
const WatchResponse = message("WatchResponse", {
  header: one(1, ResponseHeader),
  /** Of an answer to a progress request -1, which reads as 2^64 - 1. */
  watchId: id(2),
  created: bool(3),
  canceled: bool(4),
  compactRevision: int(5),
  cancelReason: text(6),
  fragment: bool(7),
  events: many(11, Event),
});
export type WatchResponse = DecodedMessage<typeof WatchResponse>;

const LeaseGrantRequest = message("LeaseGrantRequest", { ttl: int(1), id: id(2) });
const LeaseGrantResponse = message("LeaseGrantResponse", {
  header: one(1, ResponseHeader),
  id: id(2),
  ttl: int(3),
  error: text(4),
});
const LeaseRevokeRequest = message("LeaseRevokeRequest", { id: id(1) });
const LeaseRevokeResponse = message("LeaseRevokeResponse", { header: one(1, ResponseHeader) });
const LeaseTimeToLiveRequest = message("LeaseTimeToLiveRequest", { id: id(1) });
/** A lease that has ended has a TTL of -1. */
const LeaseTimeToLiveResponse = message("LeaseTimeToLiveResponse", { header: one(1, ResponseHeader), ttl: id(3) });

const StatusRequest = message("StatusRequest", {});
const StatusResponse = message("StatusResponse", {
  header: one(1, ResponseHeader),
  version: text(2),
  dbSize: int(3),
  errors: texts(8),
  dbSizeInUse: int(9),
});

const Member = message("Member", {
  id: id(1),
  name: text(2),
  peerUrls: texts(3),
  clientUrls: texts(4),
  isLearner: bool(5),
});
export type Member = DecodedMessage<typeof Member>;
const MemberAddRequest = message("MemberAddRequest", { peerUrls: texts(1), isLearner: bool(2) });
const MemberAddResponse = message("MemberAddResponse", {
  header: one(1, ResponseHeader),
  member: one(2, Member),
  members: many(3, Member),
});
const MemberIdRequest = message("MemberIdRequest", { id: id(1) });
const MemberListRequest = message("MemberListRequest", {});
const MemberListResponse = message("MemberListResponse", { header: one(1, ResponseHeader), members: many(2, Member) });

export const rpcs = {
  range: rpc("KV/Range", RangeRequest, RangeResponse),
  txn: rpc("KV/Txn", TxnRequest, TxnResponse),
  compact: rpc("KV/Compact", CompactionRequest, CompactionResponse),
  watch: rpc("Watch/Watch", WatchRequest, WatchResponse),
  leaseGrant: rpc("Lease/LeaseGrant", LeaseGrantRequest, LeaseGrantResponse),
  leaseRevoke: rpc("Lease/LeaseRevoke", LeaseRevokeRequest, LeaseRevokeResponse),
  leaseTimeToLive: rpc("Lease/LeaseTimeToLive", LeaseTimeToLiveRequest, LeaseTimeToLiveResponse),
  status: rpc("Maintenance/Status", StatusRequest, StatusResponse),
  memberList: rpc("Cluster/MemberList", MemberListRequest, MemberListResponse),
  memberAdd: rpc("Cluster/MemberAdd", MemberAddRequest, MemberAddResponse),
  memberPromote: rpc("Cluster/MemberPromote", MemberIdRequest, MemberListResponse),
  memberRemove: rpc("Cluster/MemberRemove", MemberIdRequest, MemberListResponse),
};
