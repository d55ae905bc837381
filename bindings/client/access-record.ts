/**
 * Records which permissions the requests of a program need, and which code sent them. `capstan
 * rbac` makes Roles from the record. apiserver: pkg/endpoints/request/requestinfo.go.
 *
 * Invariants: the record changes and delays no request, and none fails because of it. Its size is
 * limited.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { invalid } from '../base/errors.ts';
import {
  closeWith,
  requireTransport,
  type Transport,
  type TransportRequest,
} from '../cache/rest/transport.ts';

/** The permission that a request needs: for a resource, or for a URL path (`path`). */
export interface RequestAccess {
  /**
   * The verb of RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
   * `deletecollection`.
   */
  readonly verb: string;
  readonly group?: string;
  /** The plural name. */
  readonly resource?: string;
  readonly subresource?: string;
  /** Absent for requests of all namespaces and of cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name?: string;
  readonly path?: string;
}

/** A line of an {@link AccessRecord}: requests that differ only in the name. */
export interface AccessEntry extends Omit<RequestAccess, 'name'> {
  /** The kind, if a body has it. Without `resource` the line is for owners of this kind. */
  readonly kind?: string;
  /** At most 16 names; `*` for more, and for requests without a name. */
  readonly names: readonly string[];
  /** How many requests. */
  readonly count: number;
  /** How many of them were answered with 403. */
  readonly refused: number;
  /** How many each place in the code sent, such as `reconcile (file:///…/main.ts:12)`. */
  readonly by: Readonly<Record<string, number>>;
}

/** The most lines of a record. */
const MOST_LINES = 5000;
const MOST_NAMES = 16;
const MOST_PLACES = 16;
/** The place is read for the first 64 requests of a line, then for each 64th. */
const ALL_UNTIL = 64;
const FRAMES = 60;

interface Line {
  readonly access: Omit<RequestAccess, 'name'>;
  kind: string | undefined;
  readonly names: Set<string>;
  count: number;
  refused: number;
  readonly by: Map<string, number>;
  /** The last one in `by`. */
  place: string;
}

/**
 * The requests of a program to the API server: one line for each verb, resource and namespace. A
 * manager has one: `manager.accessRecord`.
 *
 * @example
 * const record = new AccessRecord();
 * const client = newClient({ transport: recordAccess(transport, record) });
 * await client.list(ConfigMap, { namespace: 'default' });
 * console.log(record.text()); // {"verb":"list","group":"","resource":"configmaps",…}
 */
export class AccessRecord {
  readonly #lines = new Map<string, Line>();

  /** The lines, in the order of their first requests. */
  entries(): AccessEntry[] {
    return [...this.#lines.values()].map(entryOf);
  }

  /** The lines as JSON, one per line of text. */
  text(): string {
    return this.entries()
      .map((entry) => `${JSON.stringify(entry)}\n`)
      .join('');
  }

  /**
   * Counts a request.
   *
   * @returns a function that takes the status of the answer
   */
  asked(request: TransportRequest): (status: number) => void {
    const { name, ...access } = accessOf(request);
    const line = this.#count(access, name);
    if (line === undefined) return () => undefined;
    const { verb, subresource = 'status' } = access;
    const isObject = verb !== 'delete' && verb !== 'deletecollection' && subresource === 'status';
    if (isObject && line.kind === undefined && line.count <= 2 && request.body !== undefined)
      line.kind = kindOf(request.body);
    const { place } = line;
    const owners = ownersOf(request.body);
    for (const { group, kind, name } of owners) {
      const { namespace } = access;
      const where = namespace === undefined ? {} : { namespace };
      const update = { verb: 'update', group, subresource: 'finalizers', ...where };
      this.#count(update, name, kind);
    }
    return (status) => {
      if (status === 403) line.refused++;
      // An apply or an update that makes its object needs `create` too.
      const isMade = status === 201 && (verb === 'patch' || verb === 'update');
      if (isMade && access.subresource === undefined)
        this.#count({ ...access, verb: 'create' }, name, line.kind, place);
    };
  }

  /** Gets each line that is new or has a new name. */
  protected changed(_entry: AccessEntry): void {}

  /** @param by the place that asked; default: the caller */
  #count(
    access: Omit<RequestAccess, 'name'>,
    name = '*',
    kind?: string,
    by?: string,
  ): Line | undefined {
    const { verb, group = '', resource, subresource = '', namespace, path = '' } = access;
    const id = `${verb} ${group} ${resource ?? kind} ${subresource} ${namespace ?? ''} ${path}`;
    let line = this.#lines.get(id);
    const isNew = line === undefined;
    if (line === undefined) {
      if (this.#lines.size >= MOST_LINES) return undefined;
      line = { access, kind, names: new Set(), count: 0, refused: 0, by: new Map(), place: '' };
      this.#lines.set(id, line);
    }
    line.count++;
    const changes = !line.names.has('*') && !line.names.has(name);
    if (changes) {
      const many = name === '*' || line.names.size >= MOST_NAMES;
      if (many) line.names.clear();
      line.names.add(many ? '*' : name);
    }
    const counted = line.count <= ALL_UNTIL ? 1 : line.count % ALL_UNTIL === 0 ? ALL_UNTIL : 0;
    if (counted > 0) {
      const place = by ?? caller();
      line.place = place;
      if (line.by.has(place) || line.by.size < MOST_PLACES)
        line.by.set(place, (line.by.get(place) ?? 0) + counted);
    }
    if (isNew || changes) this.changed(entryOf(line));
    return line;
  }
}

function entryOf({ access, kind, names, count, refused, by }: Line): AccessEntry {
  return {
    ...access,
    ...(kind === undefined ? {} : { kind }),
    names: [...names],
    count,
    refused,
    by: Object.fromEntries(by),
  };
}

/**
 * A transport that records its requests.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function recordAccess(
  transport: Transport,
  record: AccessRecord,
): Transport & AsyncDisposable {
  requireTransport('transport', transport);
  if (typeof record?.asked !== 'function') throw invalid('record', 'an AccessRecord', record);
  return {
    async request(request) {
      const answered = record.asked(request);
      const response = await transport.request(request);
      answered(response.status);
      return response;
    },
    host: () => transport.host?.() ?? 'none',
    waitsFor: () => transport.waitsFor?.(),
    ...closeWith(transport),
  };
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Matches `/api/v1/…` and `/apis/GROUP/VERSION/…`. */
const RESOURCE_PATH = /^\/(?:api|apis\/([^/]+))\/[^/]+\/(.+)$/;

/**
 * The permission that an API server checks for a request.
 *
 * @example
 * const { verb, resource } = accessOf({ method: 'GET', path: '/api/v1/namespaces/a/pods' });
 * console.log(verb, resource); // list pods
 */
export function accessOf({
  method,
  path,
  query = {},
}: Pick<TransportRequest, 'method' | 'path' | 'query'>): RequestAccess {
  const [plain = '', more] = path.split(/\?(.*)/s);
  const all: Readonly<Record<string, string>> =
    more === undefined ? query : { ...Object.fromEntries(new URLSearchParams(more)), ...query };
  const [, group = '', rest] = RESOURCE_PATH.exec(plain) ?? [];
  if (rest === undefined) return { verb: method.toLowerCase(), path: plain };
  const parts = rest.split('/').filter((part) => part !== '');
  let watch = all.watch !== undefined && !/^(?:0|f|false)$/i.test(all.watch);
  if (parts[0] === 'watch') watch = parts.shift() !== undefined;
  const inNamespace = parts[0] === 'namespaces' && parts.length > 2 && !OF_NAMESPACE.has(parts[2]);
  const ofNamespace = parts[0] === 'namespaces' && !inNamespace ? parts[1] : undefined;
  const namespace = inNamespace ? parts[1] : ofNamespace;
  const [resource = '', name, subresource] = inNamespace ? parts.slice(2) : parts;
  let verb = VERBS[method] ?? method.toLowerCase();
  if (name === undefined && verb === 'get') verb = watch ? 'watch' : 'list';
  else if (name === undefined && verb === 'delete') verb = 'deletecollection';
  const one = name ?? (verb === 'create' ? undefined : EXACT.exec(all.fieldSelector ?? '')?.[1]);
  return {
    verb,
    group,
    resource,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace: decoded(namespace) }),
    ...(one === undefined ? {} : { name: decoded(one) }),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** In `/namespaces/NAME/…`: the subresources of the namespace. */
const OF_NAMESPACE: ReadonlySet<string | undefined> = new Set(['status', 'finalize']);
/** A field selector that chooses one object by its name. */
const EXACT = /(?:^|,)metadata\.name==?([^,!]+)(?:,|$)/;

interface Owner {
  group: string;
  kind: string;
  name: string;
}

/**
 * The owners in a body with `blockOwnerDeletion`. The admission plugin
 * OwnerReferencesPermissionEnforcement requires `update` of their finalizers.
 */
function ownersOf(body: TransportRequest['body']): Owner[] {
  if (body === undefined) return [];
  const text = textOf(body);
  if (!text.includes('"blockOwnerDeletion":true')) return [];
  try {
    const references: unknown[] = [];
    JSON.parse(text, (name, value) => {
      if (name === 'ownerReferences' && Array.isArray(value)) references.push(...value);
      return value;
    });
    return references.flatMap((each) => {
      const { apiVersion, kind, name, blockOwnerDeletion } = each as Record<string, unknown>;
      if (blockOwnerDeletion !== true || typeof kind !== 'string') return [];
      const group = /^(.*)\//.exec(String(apiVersion))?.[1] ?? '';
      return [{ group, kind, name: String(name) }];
    });
  } catch {
    return []; // The server refuses invalid JSON.
  }
}

function kindOf(body: string | Uint8Array): string | undefined {
  try {
    const { kind } = JSON.parse(textOf(body)) as { kind?: unknown };
    return typeof kind === 'string' ? kind : undefined;
  } catch {
    return undefined;
  }
}

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : new TextDecoder().decode(body);
}

/** Names for requests that the package sends by itself, by a part of the path of its code. */
const OWN_PARTS: readonly (readonly [part: string, name: string])[] = [
  ['leaderelection/', 'leader election'],
  ['shards/', 'shards'],
  ['client/events/', 'event recorder'],
  ['client/crd/', 'installCRDs'],
  ['client/discovery', 'discovery'],
  ['cache/reflector/', 'informer'],
  ['manager/access-review', 'access to metrics'],
  ['webhook/', 'webhooks'],
  ['client/cached-client', 'cached read'],
];

/**
 * The function and line that called this package, or the part of the package that sent the request
 * by itself. It is read from V8's asynchronous stack, and is `unknown` in other engines.
 */
function caller(): string {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = limit;
  const [, here = '', ...frames] = stack.split('\n');
  // In a bundle this file has no path of its own: then each frame counts as the program's.
  const folder = /\(?([^()\s]*\/)client\/access-record\.[jt]s:/.exec(here)?.[1];
  let own: string | undefined;
  for (const frame of frames) {
    const [, name, file] = FRAME.exec(frame) ?? [];
    if (file === undefined || /^node:|^<anonymous>|\/node_modules\/(?!capstan\/)/.test(file))
      continue;
    if (folder === undefined || !file.startsWith(folder)) {
      const [, place = file] = /^(.*):\d+$/.exec(file) ?? [];
      return name === undefined ? place : `${name} (${place})`;
    }
    own ??= OWN_PARTS.find(([part]) => file.startsWith(folder + part))?.[1];
  }
  return own ?? 'unknown';
}

/** `at async Object.reconcile (file:///…/main.ts:12:3)`, or without a name and brackets. */
const FRAME = /^\s*at (?:async )?(?:(?:new )?([^ (]+)(?: \[as [^\]]*\])? \()?([^()]+:\d+:\d+)\)?$/;
