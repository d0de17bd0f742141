// What OpenAPI documents say about all kinds alike.
import type { MetaStructs } from "#schema/openapi/operations.ts";
import { Scale } from "./autoscaling/v1/scale.ts";
import { APIGroup, APIGroupList, APIResourceList, APIVersions } from "./meta/discovery.ts";
import { CreateOptions, DeleteOptions, ListOptions, PatchOptions, UpdateOptions } from "./meta/options.ts";
import { Status } from "./meta/status.ts";
import { VersionInfo } from "./meta/version-info.ts";
import { WatchEvent } from "./meta/watch-event.ts";

export const metaStructs: MetaStructs = {
  Status,
  WatchEvent,
  APIVersions,
  APIGroupList,
  APIGroup,
  APIResourceList,
  VersionInfo,
  CreateOptions,
  UpdateOptions,
  PatchOptions,
  DeleteOptions,
  ListOptions,
  Scale,
};
