/**
 * What differs from a real server on purpose, each with its reason. A rule takes out of both
 * transcripts what it names; everything else must agree.
 */
import type { Json, JsonObject } from '../same-answers/api.ts';
import type { Transcript } from './exchange.ts';

export interface IntendedDifference {
  what: string;
  why: string;
  /** Changes an entry of either transcript, before they are compared. */
  blur(entry: Transcript[number]): Transcript[number];
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The entry with each object in its body and its events changed. */
function inObjects(
  entry: Transcript[number],
  change: (object: JsonObject) => JsonObject,
): Transcript[number] {
  const body = (value: Json): Json => {
    if (!isObject(value)) return value;
    const { items } = value;
    return change(Array.isArray(items) ? { ...value, items: items.map(body) } : value);
  };
  return {
    ...entry,
    ...(entry.body === undefined ? {} : { body: body(entry.body) }),
    ...(entry.events === undefined
      ? {}
      : {
          events: entry.events.map((event) =>
            isObject(event) && event.object !== undefined
              ? { ...event, object: body(event.object) }
              : event,
          ),
        }),
  };
}

/** The value with what `change` makes of each member of each object in it. */
export function members(
  value: Json,
  change: (name: string, member: Json) => Json | undefined,
): Json {
  if (Array.isArray(value)) return value.map((item) => members(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const made = change(name, member);
      return made === undefined ? [] : [[name, members(made, change)]];
    }),
  );
}

const ASSIGNED = new Set([
  ...['clusterIP', 'nodePort', 'healthCheckNodePort', 'token'],
  'authentication.kubernetes.io/credential-id',
]);

/** An address of the ranges that the servers have for Services. */
const isAssigned = (cell: Json): boolean =>
  typeof cell === 'string' && /^(10\.0|198\.51)\.\d+\.\d+$/.test(cell);

/** Rules in an order of their own. */
const inOrder = (rules: Json): Json =>
  Array.isArray(rules)
    ? [...rules].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    : rules;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** What a server makes of a generateName that is no name: in the names of errors alone. */
const MADE_UP = /^(.*[^a-z0-9])[bcdfghjklmnpqrstvwxz2456789]{5}$/;

export const intendedDifferences: readonly IntendedDifference[] = [
  {
    what: 'the status of FlowSchemas',
    why: 'Priority and fairness writes it, which is off in the real server.',
    blur: (entry) => entry,
  },
  {
    what: 'random suffixes of invalid generated names, and names of LimitRanges without one',
    why: 'Each server generates its own.',
    blur: (entry) =>
      inObjects(entry, (object) => {
        const { kind, details, metadata } = object;
        if (kind === 'LimitRange' && isObject(metadata) && UUID.test(String(metadata.name)))
          return { ...object, metadata: { ...metadata, name: '<random>' } };
        if (kind !== 'Status' || !isObject(details) || typeof details.name !== 'string')
          return object;
        const isOfLimitRange = details.kind === 'LimitRange' && UUID.test(details.name);
        const name = isOfLimitRange ? '<random>' : details.name.replace(MADE_UP, '$1<random>');
        return { ...object, details: { ...details, name } };
      }),
  },
  {
    what: 'the wording of messages',
    why: 'Clients act on status, reason, causes and details; many messages come from Go libraries.',
    blur: (entry) =>
      inObjects(entry, (object) => {
        if (object.kind === 'TokenReview' && isObject(object.status) && object.status.error)
          return { ...object, status: { ...object.status, error: '<text>' } };
        if (object.kind !== 'Status') return object;
        const { message: _, ...rest } = object;
        const details = isObject(rest.details) ? rest.details : undefined;
        if (details === undefined || !Array.isArray(details.causes)) return rest;
        const causes = details.causes.map((cause) => {
          if (!isObject(cause)) return cause;
          const { message: _, ...known } = cause;
          return known;
        });
        return { ...rest, details: { ...details, causes } };
      }),
  },
  {
    what: 'the order of the errors of a custom object or a definition',
    why: 'The real server iterates over properties in the random order of a Go map.',
    blur: (entry) =>
      inObjects(entry, (object) => {
        const { details } = object;
        if (object.reason !== 'Invalid' || !isObject(details) || !Array.isArray(details.causes))
          return object;
        const group = String(details.group);
        if (!group.endsWith('.example.com') && group !== 'apiextensions.k8s.io') return object;
        return { ...object, details: { ...details, causes: inOrder(details.causes) } };
      }),
  },
  {
    what: 'values that a server assigns: addresses, ports, tokens',
    why: 'Each server has its own ranges and key; only the presence of a value is compared.',
    blur: (entry) =>
      inObjects(
        entry,
        (object) =>
          members(object, (name, member) => {
            if (ASSIGNED.has(name) && member !== 'None' && member !== '' && member !== null)
              return '<assigned>';
            if (name === 'clusterIPs' && Array.isArray(member) && member[0] !== 'None')
              return ['<assigned>'];
            if (name === 'cells' && Array.isArray(member))
              return member.map((cell) => (isAssigned(cell) ? '<assigned>' : cell));
            return member;
          }) as JsonObject,
      ),
  },
  {
    what: "the ages in a Table, and its columns' descriptions",
    why: 'Ages depend on two clocks; descriptions are comments of Go types.',
    blur: (entry) =>
      inObjects(entry, (object) => {
        if (object.kind !== 'Table') return object;
        const definitions = Array.isArray(object.columnDefinitions) ? object.columnDefinitions : [];
        const rows = Array.isArray(object.rows) ? object.rows : [];
        return {
          ...object,
          columnDefinitions:
            object.columnDefinitions === null
              ? null
              : definitions.map((column) =>
                  isObject(column) ? { ...column, description: '' } : column,
                ),
          rows: rows.map((row) =>
            isObject(row) && Array.isArray(row.cells)
              ? {
                  ...row,
                  cells: row.cells.map((cell) =>
                    typeof cell === 'string' && /^\d+[smhd](\d+[smhd])?$|^\d{4}-.*Z$/.test(cell)
                      ? '<age>'
                      : cell,
                  ),
                }
              : row,
          ),
        };
      }),
  },
  {
    what: 'bookmarks, except the one that ends the initial events',
    why: 'Each server sends them at its own times.',
    blur: (entry) =>
      entry.events === undefined
        ? entry
        : {
            ...entry,
            events: entry.events.filter(
              (event) =>
                !isObject(event) ||
                event.type !== 'BOOKMARK' ||
                JSON.stringify(event).includes('initial-events-end'),
            ),
          },
  },
  {
    what: 'the order of the rules in a SelfSubjectRulesReview',
    why: 'The real server reads bindings in the random order of a Go map.',
    blur: (entry) =>
      inObjects(entry, (object) => {
        if (object.kind !== 'SelfSubjectRulesReview' || !isObject(object.status)) return object;
        const { resourceRules = null, nonResourceRules = null, ...rest } = object.status;
        const status = {
          ...rest,
          resourceRules: inOrder(resourceRules),
          nonResourceRules: inOrder(nonResourceRules),
        };
        return { ...object, status };
      }),
  },
  {
    what: 'the build, the address and the health checks of the server',
    why: 'They describe the server itself.',
    blur: (entry) => {
      if (/ \/(readyz|livez|healthz)\?verbose/.test(entry.request))
        return { ...entry, body: String(entry.body).split('\n').at(-2) ?? '' };
      if (!/ \/(version|api)$/.test(entry.request) || !isObject(entry.body)) return entry;
      const { serverAddressByClientCIDRs: _, ...body } = entry.body;
      const build = ['gitVersion', 'gitCommit', 'gitTreeState', 'buildDate', 'goVersion'];
      return {
        ...entry,
        body: Object.fromEntries(
          Object.entries(body).filter(
            ([name]) => ![...build, 'compiler', 'platform'].includes(name),
          ),
        ),
      };
    },
  },
  {
    what: 'the components in ComponentStatuses',
    why: 'Only a real cluster has them: etcd, a scheduler, a controller manager.',
    blur: (entry) =>
      / \/api\/v1\/componentstatuses$/.test(entry.request) &&
      isObject(entry.body) &&
      entry.body.items
        ? { ...entry, body: { ...entry.body, metadata: {}, items: [] } }
        : entry,
  },
  {
    what: 'requests at which the real server panics and closes the connection',
    why: 'There is no answer to compare; the rest of such a case is ignored.',
    blur: (entry) => entry,
  },
  {
    what: 'times that a server sets',
    why: 'The two servers have different clocks.',
    blur: (entry) =>
      inObjects(
        entry,
        (object) =>
          members(object, (name, member) => {
            if (name === 'disruptedPods' && isObject(member))
              return Object.fromEntries(Object.keys(member).map((pod) => [pod, '<time>']));
            const isTime =
              /^(lastTransitionTime|lastUpdateTime|expirationTimestamp|creationTimestamp|acceptedAt|lastPhaseTransitionTime)$/;
            return isTime.test(name) && typeof member === 'string' ? '<time>' : member;
          }) as JsonObject,
      ),
  },
];
