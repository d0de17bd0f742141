// What can be done with a kind, path by path: every verb and subresource under the names upstream gives them.
import { type AnyKind, type Subresource, subresourcesOf, type Verb } from "../kind.ts";
import type { AnyStruct } from "../struct.ts";
import type { GroupVersionKind, Model } from "./definitions.ts";
import { capitalized, idPart, pathOfGroupVersion, tagOf } from "./names.ts";
import {
  nameParameter,
  namespaceParameter,
  type Parameter,
  parametersOf,
  pathParameter,
  pretty,
} from "./parameters.ts";

export type Method = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

export interface ApiOperation {
  readonly method: Method;
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  readonly action?: string;
  readonly of?: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly model: Model; readonly required: boolean };
  /** Code, reason and what is answered. */
  readonly responses: readonly (readonly [number, string, Model])[];
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
}

export type Paths = ReadonlyMap<string, readonly ApiOperation[]>;

/** The structs that belong to no kind but travel with all of them. */
export interface MetaStructs {
  readonly Status: AnyStruct;
  readonly WatchEvent: AnyStruct;
  readonly APIVersions: AnyStruct;
  readonly APIGroupList: AnyStruct;
  readonly APIGroup: AnyStruct;
  readonly APIResourceList: AnyStruct;
  readonly VersionInfo: AnyStruct;
  readonly CreateOptions: AnyStruct;
  readonly UpdateOptions: AnyStruct;
  readonly PatchOptions: AnyStruct;
  readonly DeleteOptions: AnyStruct;
  readonly ListOptions: AnyStruct;
  readonly Scale: AnyKind;
}

export const mediaTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] as const;
const streamTypes = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"] as const;
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
] as const;

export function operationsOf(kind: AnyKind, meta: MetaStructs): Paths {
  const paths = new Map<string, ApiOperation[]>();
  const add = ({ path, ...operation }: ApiOperation & { readonly path: string }) => {
    const there = paths.get(path);
    if (there) there.push(operation);
    else paths.set(path, [operation]);
  };
  const place = placeOf(kind);
  for (const action of actionsOf(kind)) add(operation(kind, place, action, meta));
  for (const [name, subresource] of Object.entries(subresourcesOf(kind, meta.Scale)))
    for (const one of subresourceOperations(kind, place, name, subresource, meta)) add(one);
  return paths;
}

interface PathParts {
  readonly base: string;
  /** The part of the path between version and resource: empty, or the namespace. */
  readonly scope: string;
  readonly scopeParameters: readonly Parameter[];
}

function placeOf({ group, version, scope }: AnyKind): PathParts {
  const base = `/${pathOfGroupVersion(group, version)}`;
  return scope === "Namespaced"
    ? { base, scope: "/namespaces/{namespace}", scopeParameters: [namespaceParameter] }
    : { base, scope: "", scopeParameters: [] };
}

type ActionName = "list" | "post" | "deletecollection" | "watchlist" | "get" | "put" | "patch" | "delete" | "watch";

interface Action {
  readonly name: ActionName;
  readonly at: "item" | "collection" | "all namespaces";
}

function actionsOf(kind: AnyKind): readonly Action[] {
  const can = (verb: Verb) => kind.verbs.includes(verb);
  const oldWatch = can("watch") && kind.model.publication.watchPaths;
  const names: readonly (readonly [ActionName, Action["at"], boolean])[] = [
    ["list", "collection", can("list")],
    ["post", "collection", can("create")],
    ["deletecollection", "collection", can("deletecollection")],
    ["watchlist", "collection", oldWatch && can("list")],
    ["get", "item", can("get")],
    ["put", "item", can("update")],
    ["patch", "item", can("patch")],
    ["delete", "item", can("delete")],
    ["watch", "item", oldWatch],
    ["list", "all namespaces", can("list") && kind.scope === "Namespaced"],
    ["watchlist", "all namespaces", oldWatch && can("list") && kind.scope === "Namespaced"],
  ];
  return names.flatMap(([name, at, there]) => (there ? [{ name, at }] : []));
}

/** An action: its method, the first word of its id, and its description. */
const forms: Readonly<Record<ActionName, { method: Method; id: string; doc: string }>> = {
  list: { method: "get", id: "list", doc: "List or watch objects of kind" },
  post: { method: "post", id: "create", doc: "Create an object of kind" },
  deletecollection: { method: "delete", id: "deleteCollection", doc: "Delete all selected objects of kind" },
  watchlist: { method: "get", id: "watch", doc: "Watch objects; outlived by the watch parameter of a list. Kind" },
  get: { method: "get", id: "read", doc: "Read an object of kind" },
  put: { method: "put", id: "replace", doc: "Replace an object of kind" },
  patch: { method: "patch", id: "patch", doc: "Change parts of an object of kind" },
  delete: { method: "delete", id: "delete", doc: "Delete an object of kind" },
  watch: {
    method: "get",
    id: "watch",
    doc: "Watch one object; outlived by the watch parameter of a list with a field selector. Kind",
  },
};

type PathOperation = ApiOperation & { readonly path: string };

function operation(kind: AnyKind, place: PathParts, { name, at }: Action, meta: MetaStructs): PathOperation {
  const { method, id, doc } = forms[name];
  const watches = name === "watch" || name === "watchlist";
  const everywhere = at === "all namespaces";
  const item = at === "item" ? "/{name}" : "";
  const namespaced = kind.scope === "Namespaced" && !everywhere ? "Namespaced" : "";
  const ending = `${name === "watchlist" ? "List" : ""}${everywhere ? "ForAllNamespaces" : ""}`;
  const types = mediaTypesOf(kind);
  return {
    path: `${place.base}${watches ? "/watch" : ""}${everywhere ? "" : place.scope}/${kind.plural}${item}`,
    method,
    id: operationId(kind, id, `${namespaced}${kind.kind}${ending}`),
    tag: tagOf(kind.group, kind.version),
    description: `${doc} ${kind.kind}.`,
    action: name,
    of: kind,
    parameters: [
      pretty,
      ...(everywhere ? [] : place.scopeParameters),
      ...(item ? [nameParameter(kind.kind)] : []),
      ...queryOf(name, meta),
    ],
    ...bodyOf(name, { kind }, meta),
    responses: responsesOf(name, { kind }, { listOf: kind }, meta, kind.returnsDeleted === true),
    consumes: consumesOf(kind, name),
    produces: (watches || name === "list") && types === mediaTypes ? [...types, ...streamTypes] : types,
  };
}

function subresourceOperations(
  kind: AnyKind,
  place: PathParts,
  name: string,
  subresource: Subresource,
  meta: MetaStructs,
): readonly PathOperation[] {
  if (subresource.kindName !== undefined) return connections(kind, place, name, subresource);
  const other = subresource.kind?.();
  const body = other ?? kind;
  const options = subresource.options?.();
  const namespaced = kind.scope === "Namespaced" ? "Namespaced" : "";
  return subresource.verbs.flatMap((verb): PathOperation[] => {
    const action = subresourceActions[verb];
    if (!action) return [];
    const { method, id, doc } = forms[action];
    const text = options !== undefined && action === "get";
    return [
      {
        path: `${place.base}${place.scope}/${kind.plural}/{name}/${name}`,
        method,
        id: operationId(kind, id, `${namespaced}${kind.kind}${capitalized(name)}`),
        tag: tagOf(kind.group, kind.version),
        description: `${doc} ${kind.kind}: its ${name}.`,
        action,
        of: body,
        parameters: [
          pretty,
          ...place.scopeParameters,
          nameParameter(body.kind),
          ...queryOf(action, meta),
          ...(options ? parametersOf(options) : []),
        ],
        ...bodyOf(action, { kind: body }, meta),
        responses: responsesOf(action, text ? "string" : { kind: body }, "string", meta, false),
        consumes: consumesOf(kind, action),
        produces: [...(text ? ["text/plain"] : []), ...mediaTypesOf(kind)],
      },
    ];
  });
}

const subresourceActions: Partial<Record<Verb, ActionName>> = {
  create: "post",
  get: "get",
  update: "put",
  patch: "patch",
  delete: "delete",
};

/** Requests that become streams, or are passed on: any method the subresource knows. */
function connections(
  kind: AnyKind,
  place: PathParts,
  name: string,
  subresource: Subresource,
): readonly PathOperation[] {
  const methods: readonly Method[] = subresource.path
    ? ["get", "post", "put", "delete", "options", "head", "patch"]
    : ["get", "post"];
  const optionsKind = subresource.kindName ?? kind.kind;
  const options = subresource.options?.();
  const namespaced = kind.scope === "Namespaced" ? "Namespaced" : "";
  const paths = subresource.path ? ["", "/{path}"] : [""];
  return paths.flatMap((path) =>
    methods.map((method) => ({
      path: `${place.base}${place.scope}/${kind.plural}/{name}/${name}${path}`,
      method,
      id: operationId(
        kind,
        "connect",
        `${capitalized(method)}${namespaced}${kind.kind}${capitalized(name)}${path && "WithPath"}`,
      ),
      tag: tagOf(kind.group, kind.version),
      description: `Connect to the ${name} of an object of kind ${kind.kind} by ${method.toUpperCase()}.`,
      action: "connect",
      of: { group: kind.group, version: kind.version, kind: optionsKind },
      parameters: [
        ...place.scopeParameters,
        nameParameter(optionsKind),
        ...(path ? [pathParameter] : []),
        ...(options ? parametersOf(options) : []),
      ],
      responses: [[200, "OK", "string"]],
      consumes: ["*/*"],
      produces: ["*/*"],
    })),
  );
}

/** "listCoreV1NamespacedPod": the verb, the group and version, the rest. Of "deleteCollection", only "delete" counts as the verb. */
function operationId({ group, version }: AnyKind, verb: string, rest: string): string {
  const [first = "", second = ""] = verb.split(/(?=[A-Z])/);
  return `${first}${idPart(group === "" ? "core" : group)}${idPart(version)}${second}${rest}`;
}

function queryOf(action: ActionName, meta: MetaStructs): readonly Parameter[] {
  switch (action) {
    case "get":
      return [];
    case "post":
      return parametersOf(meta.CreateOptions);
    case "put":
      return parametersOf(meta.UpdateOptions);
    case "patch":
      return parametersOf(meta.PatchOptions);
    case "delete":
      return parametersOf(meta.DeleteOptions);
    case "deletecollection": {
      const deletes = parametersOf(meta.DeleteOptions);
      const lists = parametersOf(meta.ListOptions).filter(
        ({ name }) => name !== "watch" && name !== "allowWatchBookmarks" && !deletes.some((one) => one.name === name),
      );
      return [...deletes, ...lists];
    }
    default:
      return parametersOf(meta.ListOptions);
  }
}

function bodyOf(action: ActionName, model: Model, meta: MetaStructs): Pick<ApiOperation, "body"> {
  switch (action) {
    case "post":
    case "put":
      return { body: { model, required: true } };
    case "patch":
      return { body: { model: "patch", required: true } };
    case "delete":
    case "deletecollection":
      return { body: { model: { struct: meta.DeleteOptions }, required: false } };
    default:
      return {};
  }
}

function responsesOf(
  action: ActionName,
  model: Model,
  list: Model,
  meta: MetaStructs,
  returnsDeleted: boolean,
): ApiOperation["responses"] {
  const ok = (what: Model) => [200, "OK", what] as const;
  const status: Model = { struct: meta.Status };
  switch (action) {
    case "list":
      return [ok(list)];
    case "watch":
    case "watchlist":
      return [ok({ struct: meta.WatchEvent })];
    case "get":
      return [ok(model)];
    case "put":
    case "patch":
      return [ok(model), [201, "Created", model]];
    case "post":
      return [ok(model), [201, "Created", model], [202, "Accepted", model]];
    case "delete": {
      const deleted = returnsDeleted ? model : status;
      return [ok(deleted), [202, "Accepted", deleted]];
    }
    case "deletecollection":
      return [ok(status)];
  }
}

const mediaTypesOf = ({ model }: AnyKind): readonly string[] =>
  model.publication.protobuf ? mediaTypes : mediaTypes.slice(0, 2);

function consumesOf(kind: AnyKind, action: ActionName): readonly string[] {
  const { protobuf, strategicPatch } = kind.model.publication;
  if (action !== "patch") return protobuf ? ["*/*"] : mediaTypesOf(kind);
  return strategicPatch ? patchTypes : patchTypes.filter((type) => type !== "application/strategic-merge-patch+json");
}
