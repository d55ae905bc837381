/** Reads the requests of a program: from the record of a manager, or an API server's audit log. */

import type { AccessEntry } from 'capstan/client';
import { CapstanError } from 'capstan/workqueue';

/** Requests with the same verb, resource and namespace. */
export interface Asked {
  readonly verb: string;
  readonly group: string;
  /** The resource with its subresource: `pods/status`; '' for a path. */
  readonly resource: string;
  readonly path: string;
  /** '' for all namespaces, and for cluster-scoped kinds. */
  readonly namespace: string;
  /** `*`: of any name. */
  readonly names: readonly string[];
  readonly count: number;
  readonly refused: number;
  readonly by: Readonly<Record<string, number>>;
}

/** Which lines are read. */
export interface LineChoice {
  /** Requests from files with one of these texts are left out. */
  readonly ignore: readonly string[];
  /** The users of an audit log that are read. Empty: all. */
  readonly users: readonly string[];
}

/** A line of a manager's record; a later line of a run and key replaces the one before. */
type Line = AccessEntry & { readonly run?: string };

/** An event of an audit log. kubernetes: audit.k8s.io/v1. */
interface AuditEvent {
  readonly kind: 'Event';
  readonly auditID?: string;
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly userAgent?: string;
  readonly user?: { readonly username?: string };
  readonly impersonatedUser?: { readonly username?: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: { readonly kind?: string; readonly metadata?: object };
}

/** Texts of records, by their source. */
export type Sources = readonly (readonly [source: string, text: string])[];

/**
 * The requests of all sources. An owner reference with `blockOwnerDeletion` becomes `update` of the
 * owner's finalizers.
 *
 * @throws CapstanError INVALID_ARGUMENT for a line that is none of a record
 */
export function askedIn(sources: Sources, choice: LineChoice): Asked[] {
  const lines = new Map<string, Line>();
  const events = new Set<string>();
  let count = 0;
  for (const [source, text] of sources)
    for (const [at, line] of text.split('\n').entries()) {
      if (line.trim() === '') continue;
      const parsed = parse(line, `line ${at + 1} of ${source}`);
      for (const [i, entry] of entriesOf(parsed, events, choice).entries()) {
        const { run = `${source} ${isAudit(parsed) ? count++ : ''}` } = entry;
        lines.set(`${run} ${i} ${keyOf(entry)}`, entry);
      }
    }
  const kept = [...lines.values()].flatMap((line) => withoutIgnored(line, choice.ignore));
  const plurals = pluralsOf(kept);
  return merged(kept.map((line) => askedBy(line, plurals)));
}

const keyOf = ({ verb, group, resource, kind, subresource, namespace, path }: Line): string =>
  [verb, group, resource ?? kind, subresource, namespace, path].join(' ');

function parse(line: string, where: string): Line | AuditEvent {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw notARecord(where, line, cause);
  }
  if (typeof value !== 'object' || value === null) throw notARecord(where, line);
  if (isAudit(value as AuditEvent)) return value as AuditEvent;
  const { verb, names, by, count } = value as Partial<Line>;
  if (typeof verb !== 'string' || !Array.isArray(names) || typeof count !== 'number')
    throw notARecord(where, line);
  if (typeof by !== 'object' || by === null) throw notARecord(where, line);
  return value as Line;
}

function notARecord(where: string, line: string, cause?: unknown): CapstanError {
  return new CapstanError(
    'INVALID_ARGUMENT',
    `${where} expected a line of a record of requests, or an event of an audit log, as JSON, got ` +
      `${line.slice(0, 60)}`,
    { cause },
  );
}

const isAudit = (value: Line | AuditEvent): value is AuditEvent =>
  (value as AuditEvent).kind === 'Event' && 'requestURI' in value;

function entriesOf(
  value: Line | AuditEvent,
  events: Set<string>,
  { users }: LineChoice,
): readonly Line[] {
  if (!isAudit(value)) return [value];
  const { auditID = '', verb = '', objectRef, user, impersonatedUser, userAgent } = value;
  const who = impersonatedUser?.username ?? user?.username ?? '';
  if (users.length > 0 && !users.includes(who)) return [];
  if (value.stage === 'RequestReceived' || events.has(auditID)) return [];
  events.add(auditID);
  const refused = value.responseStatus?.code === 403 ? 1 : 0;
  const program = userAgent === undefined ? '' : ` by ${userAgent.split(' ')[0]}`;
  const rest = { count: 1, refused, by: { [`${who}${program}`]: 1 } };
  if (objectRef === undefined) {
    const path = value.requestURI?.split('?')[0] ?? '';
    return [{ verb, path, names: ['*'], ...rest }];
  }
  const { apiGroup: group = '', resource = '', subresource, namespace, name } = objectRef;
  const where = namespace === undefined ? {} : { namespace };
  const entry: Line = {
    verb,
    group,
    resource,
    ...(subresource === undefined ? {} : { subresource }),
    ...where,
    ...(subresource === undefined && value.requestObject?.kind !== undefined
      ? { kind: value.requestObject.kind }
      : {}),
    names: [name ?? '*'],
    ...rest,
  };
  // An apply or an update that made its object needed `create` too.
  const isMade = value.responseStatus?.code === 201 && (verb === 'patch' || verb === 'update');
  return [
    entry,
    ...(isMade && subresource === undefined ? [{ ...entry, verb: 'create' }] : []),
    ...ownersOf(value.requestObject, where, rest),
  ];
}

function ownersOf(
  object: AuditEvent['requestObject'],
  where: { namespace?: string },
  rest: Pick<Line, 'count' | 'refused' | 'by'>,
): Line[] {
  const { ownerReferences = [] } = (object?.metadata ?? {}) as { ownerReferences?: Owner[] };
  return ownerReferences
    .filter(({ blockOwnerDeletion }) => blockOwnerDeletion === true)
    .map(({ apiVersion, kind, name }) => {
      const group = /^(.*)\//.exec(apiVersion)?.[1] ?? '';
      const update = { verb: 'update', group, kind, subresource: 'finalizers' };
      return { ...update, ...where, names: [name], ...rest };
    });
}

interface Owner {
  apiVersion: string;
  kind: string;
  name: string;
  blockOwnerDeletion?: boolean;
}

/** The line without the places that are left out; nothing if no place remains. */
function withoutIgnored(line: Line, ignore: readonly string[]): Line[] {
  if (ignore.length === 0) return [line];
  const places = Object.entries(line.by);
  const left = places.filter(([place]) => !ignore.some((text) => place.includes(text)));
  if (left.length === places.length) return [line];
  if (left.length === 0) return [];
  const count = left.reduce((sum, [, each]) => sum + each, 0);
  return [{ ...line, count, by: Object.fromEntries(left) }];
}

/** The plural names of kinds, as requests told them: `GROUP KIND` → plural. */
function pluralsOf(lines: readonly Line[]): (group: string, kind: string) => string {
  const told = new Map<string, string>();
  const known = new Map<string, Set<string>>();
  for (const { group = '', resource, subresource, kind } of lines) {
    if (resource === undefined) continue;
    const ofGroup = known.get(group) ?? new Set();
    known.set(group, ofGroup.add(resource));
    if (kind !== undefined && (subresource === undefined || subresource === 'status'))
      told.set(`${group} ${kind}`, resource);
  }
  return (group, kind) => {
    const word = kind.toLowerCase();
    const forms = [`${word}s`, `${word}es`, `${word.replace(/y$/, 'ie')}s`, word];
    const seen = forms.find((form) => known.get(group)?.has(form));
    return told.get(`${group} ${kind}`) ?? seen ?? regular(word);
  };
}

/** apimachinery: meta.UnsafeGuessKindToResource. */
function regular(word: string): string {
  if (/(?:s|x|ch|sh)$/.test(word)) return `${word}es`;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
}

function askedBy(line: Line, plural: (group: string, kind: string) => string): Asked {
  const { verb, group = '', kind = '', subresource, namespace = '', path = '' } = line;
  const { names, count, refused, by } = line;
  const base = path !== '' ? '' : (line.resource ?? plural(group, kind));
  const resource = subresource === undefined ? base : `${base}/${subresource}`;
  const places =
    line.resource === undefined && path === ''
      ? Object.fromEntries(Object.entries(by).map(([at, n]) => [`blockOwnerDeletion of ${at}`, n]))
      : by;
  return { verb, group, resource, path, namespace, names, count, refused, by: places };
}

function merged(all: readonly Asked[]): Asked[] {
  const byKey = new Map<string, Asked>();
  for (const one of all) {
    const key = [one.verb, one.group, one.resource, one.path, one.namespace].join(' ');
    const there = byKey.get(key);
    if (there === undefined) {
      byKey.set(key, one);
      continue;
    }
    const by: Record<string, number> = { ...there.by };
    for (const [place, count] of Object.entries(one.by)) by[place] = (by[place] ?? 0) + count;
    const names = new Set([...there.names, ...one.names]);
    byKey.set(key, {
      ...there,
      names: names.has('*') ? ['*'] : [...names],
      count: there.count + one.count,
      refused: there.refused + one.refused,
      by,
    });
  }
  return [...byKey.values()];
}
