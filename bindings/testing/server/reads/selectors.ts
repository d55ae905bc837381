/**
 * Label and field selectors of a request, parsed by the grammar of apimachinery
 * (pkg/labels/selector.go, pkg/fields/selector.go) with its messages. Each is compiled to one
 * function, as a watch calls it twice for every event.
 */
import { CapstanError } from '../../../base/errors.ts';
import { parseLabelSelector } from '../../../base/selectors.ts';
import { isObject, type Json, type JsonObject, memberObject } from '../json.ts';
import type { Kind } from '../registry/kinds.ts';
import { metadataOf } from '../registry/store.ts';
import { badRequest } from '../status.ts';

export type ObjectPredicate = (object: JsonObject) => boolean;

/**
 * Both selectors of a request; undefined when everything matches.
 *
 * @param check checks the other parameters, after the selectors have been parsed
 */
export function parseSelectors(
  kind: Kind,
  labels: string | null,
  fields: string | null,
  check?: () => void,
): ObjectPredicate | undefined {
  const byLabel = labelPredicate(labels ?? '');
  const byField = parseFieldSelector(kind, fields ?? '', check);
  if (byLabel === undefined) return byField;
  if (byField === undefined) return byLabel;
  return (object) => byLabel(object) && byField(object);
}

/** A label selector as `bindings/base/selectors.ts` parses it; invalid ones are a 400. */
function labelPredicate(selector: string): ObjectPredicate | undefined {
  let matches: ReturnType<typeof parseLabelSelector>;
  try {
    matches = parseLabelSelector(selector);
  } catch (error) {
    throw error instanceof CapstanError ? badRequest(error.message) : error;
  }
  return matches && ((object) => matches(memberObject(metadataOf(object), 'labels')));
}

/**
 * The fields other than name and namespace by which built-in kinds can be selected:
 * pkg/registry/<group>/<kind>/strategy.go.
 */
const FIELDS: Record<string, readonly string[]> = {
  '/pods': [
    ...[
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'spec.hostNetwork',
    ],
    ...['status.phase', 'status.podIP', 'status.nominatedNodeName'],
  ],
  '/secrets': ['type'],
  '/namespaces': ['status.phase'],
  '/nodes': ['spec.unschedulable'],
  '/replicationcontrollers': ['status.replicas'],
  'batch/jobs': ['status.successful'],
  'certificates.k8s.io/certificatesigningrequests': ['spec.signerName'],
  'resource.k8s.io/resourceslices': ['spec.nodeName', 'spec.driver'],
  'events.k8s.io/events': [
    ...['regarding.kind', 'regarding.namespace', 'regarding.name', 'regarding.uid'],
    ...['regarding.apiVersion', 'regarding.resourceVersion', 'regarding.fieldPath'],
    ...['reason', 'reportingController', 'type'],
  ],
  '/services': ['spec.clusterIP', 'spec.type'],
  '/events': [
    ...[
      'involvedObject.kind',
      'involvedObject.namespace',
      'involvedObject.name',
      'involvedObject.uid',
    ],
    ...['involvedObject.apiVersion', 'involvedObject.resourceVersion', 'involvedObject.fieldPath'],
    ...['reason', 'reportingComponent', 'source', 'type'],
  ],
};

/** Fields that do not default to an empty string. */
const ABSENT: Record<string, string> = {
  ...{ 'spec.hostNetwork': 'false', 'spec.unschedulable': 'false' },
  ...{ 'status.replicas': '0', 'status.successful': '0' },
};
/**
 * The path of a field in a stored object (registry/conversion.ts), where it differs from the
 * field's name.
 */
function pathOf(kind: Kind, field: string): string {
  if (!kind.builtIn) return field;
  if (kind.group === 'events.k8s.io')
    return field.replace(/^regarding/, 'involvedObject').replace(/Controller$/, 'Component');
  return field.replace(/^status\.successful$/, 'status.succeeded');
}

/** Parses `metadata.name=a,status.phase!=Running`; an unsupported field is a 400. */
function parseFieldSelector(
  kind: Kind,
  selector: string,
  check?: () => void,
): ObjectPredicate | undefined {
  const own = kind.builtIn ? FIELDS[`${kind.group}/${kind.plural}`] : kind.selectable;
  const terms = splitTerms(selector)
    .filter((term) => term !== '')
    .sort()
    .flatMap((term) => {
      const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
      if (match === null)
        throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
      const [, field = '', operator, escaped = ''] = match;
      // apimachinery drops an empty term before it checks the field.
      if (field === '' && escaped === '') return [];
      return [{ field, operator, value: unescaped(escaped) }];
    });
  check?.();
  const predicates = terms.map(({ field, operator, value }) => {
    if (field !== 'metadata.name' && field !== 'metadata.namespace' && !own?.includes(field))
      throw unknownField(kind, own, field);
    const path = pathOf(kind, field).split('.');
    const absent = (kind.builtIn ? ABSENT[field] : undefined) ?? '';
    const textOf = (object: JsonObject): string =>
      kind.builtIn && field === 'source' ? sourceOf(object) : fieldText(object, path, absent);
    return (object: JsonObject): boolean => (textOf(object) === value) === (operator !== '!=');
  });
  if (predicates.length === 0) return undefined;
  return (object) => predicates.every((predicate) => predicate(object));
}

/** The name that a field selector requires by `=`; undefined when it requires none. */
export function exactName(selector: string | null): string | undefined {
  for (const term of splitTerms(selector ?? '')) {
    const match = /^metadata\.name==?([^=].*)$/s.exec(term);
    if (match !== null) return unescaped(match[1] ?? '');
  }
  return undefined;
}

function unknownField(kind: Kind, own: readonly string[] | undefined, field: string): Error {
  if (own === undefined && kind.builtIn) {
    return badRequest(
      `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
  if (kind.builtIn && kind.plural === 'jobs')
    return badRequest(`field label "${field}" not supported for Job`);
  return badRequest(`field label not supported: ${field}`);
}

/**
 * The field `source` of an Event: the reporting component where the source is empty.
 * pkg/registry/core/event/strategy.go.
 */
function sourceOf(event: JsonObject): string {
  return (
    fieldText(event, ['source', 'component'], '') || fieldText(event, ['reportingComponent'], '')
  );
}

function fieldText(object: JsonObject, path: readonly string[], absent: string): string {
  let value: Json | undefined = object;
  for (const member of path) value = isObject(value) ? value[member] : undefined;
  return value === undefined || value === null ? absent : String(value);
}

/** Commas separate terms unless a backslash escapes them. */
function splitTerms(selector: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < selector.length; at++) {
    if (selector.charAt(at) === '\\') at++;
    else if (selector.charAt(at) === ',') {
      terms.push(selector.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(selector.slice(start));
  return terms;
}

/** `\\`, `\,` and `\=` stand for the character; any other escape, and a bare `=`, is an error. */
function unescaped(text: string): string {
  let value = '';
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '\\') {
      const next = text.charAt(++at);
      if (next === '' || !'\\,='.includes(next))
        throw badRequest(`invalid field selector: invalid escape sequence: ${character}${next}`);
      value += next;
    } else if (character === '=' || character === ',') {
      throw badRequest(`invalid field selector: unescaped character in value: ${character}`);
    } else {
      value += character;
    }
  }
  return value;
}
