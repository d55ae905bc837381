/**
 * The cells of Tables for each kind, as kubectl prints them. kubernetes:
 * pkg/printers/internalversion/printers.go.
 */
import { isObject, type Json, type JsonObject, memberObject, stringAt } from '../json.ts';
import { metadataOf } from '../registry/store.ts';

export interface PrintColumn {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

/** The cells of a row, in the order of the columns; `now` in milliseconds. */
export type Cells = (object: JsonObject, now: number) => Json[];

export interface Printer {
  columns: PrintColumn[];
  cells: Cells;
}

/** Parses a column: `Name`, `Data:integer` with a type, `Node*` for a column of `-o wide` only. */
export function column(definition: string): PrintColumn {
  const [, name = '', wide, type = 'string'] = /^(.*?)(\*)?(?::(\w+))?$/.exec(definition) ?? [];
  const format = name === 'Name' || name === 'Attacher' ? 'name' : '';
  return { name, type, format, description: '', priority: wide === undefined ? 0 : 1 };
}

export const listAt = (object: JsonObject, ...path: string[]): Json[] => {
  const value = at(object, ...path);
  return Array.isArray(value) ? [...value] : [];
};
export const objects = (object: JsonObject, ...path: string[]): JsonObject[] =>
  listAt(object, ...path).filter(isObject);
export const at = (object: Json | undefined, ...path: string[]): Json | undefined =>
  path.reduce<Json | undefined>(
    (value, name) => (isObject(value) ? value[name] : undefined),
    object,
  );
export const textField = (object: JsonObject, ...path: string[]): string => {
  const value = at(object, ...path);
  return value === undefined || value === null ? '' : String(value);
};
export const numberField = (object: JsonObject, ...path: string[]): number => {
  const value = at(object, ...path);
  return typeof value === 'number' ? value : 0;
};
export const orDefault = (value: string, none: string): string => (value === '' ? none : value);

export const name = (object: JsonObject): string => stringAt(metadataOf(object), 'name');
export const age = (object: JsonObject, now: number): string =>
  sinceText(stringAt(metadataOf(object), 'creationTimestamp'), now);

/** The age of `time`. apimachinery: pkg/util/duration HumanDuration. */
export function sinceText(time: string, now: number): string {
  const then = Date.parse(time);
  if (Number.isNaN(then)) return '<unknown>';
  return durationText(now - then);
}

export function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 120) return `${Math.max(seconds, 0)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  if (years < 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`;
  return `${years}y`;
}

/**
 * Prints a LabelSelector, as `app=web,tier in (a,b)`. @param plain the selector is a map of labels
 */
export function selectorText(selector: Json | undefined, plain = false): string {
  if (!isObject(selector)) return '<none>';
  const labels = plain ? selector : memberObject(selector, 'matchLabels');
  const parts = Object.entries(labels)
    .map(([key, value]) => `${key}=${String(value)}`)
    .sort();
  const expressions = plain ? [] : objects(selector, 'matchExpressions');
  for (const { key, operator, values } of expressions) {
    const list = Array.isArray(values) ? values.join(',') : '';
    if (operator === 'In') parts.push(`${String(key)} in (${list})`);
    else if (operator === 'NotIn') parts.push(`${String(key)} notin (${list})`);
    else parts.push(operator === 'Exists' ? String(key) : `!${String(key)}`);
  }
  return orDefault(parts.join(','), '<none>');
}

export const containerCells = (
  object: JsonObject,
  ...path: string[]
): [names: string, images: string] => {
  const all = objects(object, ...path, 'containers');
  return [
    all.map((each) => textField(each, 'name')).join(','),
    all.map((each) => textField(each, 'image')).join(','),
  ];
};

export const MODES: Record<string, string> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
export const accessModesCell = (list: Json[]): string =>
  [...new Set(list)].map((mode) => MODES[String(mode)] ?? String(mode)).join(',');

export function podCells(object: JsonObject, now: number): Json[] {
  const all = objects(object, 'spec', 'containers');
  const statuses = objects(object, 'status', 'containerStatuses');
  const ready = statuses.filter(
    (each) => each.ready === true && at(each, 'state', 'running') !== undefined,
  ).length;
  const restarts = statuses.reduce((sum, each) => sum + numberField(each, 'restartCount'), 0);
  let phase = orDefault(
    textField(object, 'status', 'reason'),
    textField(object, 'status', 'phase'),
  );
  for (const each of statuses.toReversed()) {
    const waiting = textField(each, 'state', 'waiting', 'reason');
    const ended = textField(each, 'state', 'terminated', 'reason');
    if (waiting !== '') phase = waiting;
    else if (ended !== '') phase = ended;
  }
  if (stringAt(metadataOf(object), 'deletionTimestamp') !== '') phase = 'Terminating';
  const gates = objects(object, 'spec', 'readinessGates');
  const open = gates.filter((gate) =>
    objects(object, 'status', 'conditions').some(
      (each) => each.type === gate.conditionType && each.status === 'True',
    ),
  ).length;
  return [
    name(object),
    `${ready}/${all.length}`,
    phase,
    String(restarts),
    age(object, now),
    orDefault(textField(objects(object, 'status', 'podIPs')[0] ?? {}, 'ip'), '<none>'),
    orDefault(textField(object, 'spec', 'nodeName'), '<none>'),
    orDefault(textField(object, 'status', 'nominatedNodeName'), '<none>'),
    gates.length === 0 ? '<none>' : `${open}/${gates.length}`,
  ];
}

export function externalIP(object: JsonObject): string {
  const type = textField(object, 'spec', 'type');
  const own = listAt(object, 'spec', 'externalIPs').map(String);
  if (type === 'ExternalName') return textField(object, 'spec', 'externalName');
  if (type === '') return '<unknown>';
  if (type !== 'LoadBalancer') return orDefault(own.join(','), '<none>');
  const given = objects(object, 'status', 'loadBalancer', 'ingress').map(
    (each) => textField(each, 'ip') || textField(each, 'hostname'),
  );
  return orDefault([...given, ...own].join(','), '<pending>');
}

export function portsCell(object: JsonObject): string {
  const all = objects(object, 'spec', 'ports').map(({ port, nodePort, protocol }) =>
    nodePort
      ? `${String(port)}:${String(nodePort)}/${String(protocol)}`
      : `${String(port)}/${String(protocol)}`,
  );
  return orDefault(all.join(','), '<none>');
}

export function endpointsCell(object: JsonObject): string {
  const all = objects(object, 'subsets').flatMap((subset) => {
    const addresses = objects(subset, 'addresses').map(({ ip }) => String(ip));
    const numbers = objects(subset, 'ports').map(({ port }) => String(port));
    if (numbers.length === 0) return addresses;
    return numbers.flatMap((port) => addresses.map((ip) => `${ip}:${port}`));
  });
  if (all.length === 0) return '<none>';
  return all.length <= 3
    ? all.join(',')
    : `${all.slice(0, 3).join(',')} + ${all.length - 3} more...`;
}

export function nodeCells(object: JsonObject, now: number): Json[] {
  const ready = objects(object, 'status', 'conditions').find(({ type }) => type === 'Ready');
  const status = [
    ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady',
    ...(at(object, 'spec', 'unschedulable') === true ? ['SchedulingDisabled'] : []),
  ];
  const labels = Object.entries(memberObject(metadataOf(object), 'labels'));
  const roles = labels.flatMap(([key, value]) =>
    key.startsWith('node-role.kubernetes.io/')
      ? [key.slice('node-role.kubernetes.io/'.length)]
      : key === 'kubernetes.io/role'
        ? [String(value)]
        : [],
  );
  const address = (type: string): string =>
    orDefault(
      textField(
        objects(object, 'status', 'addresses').find((each) => each.type === type) ?? {},
        'address',
      ),
      '<none>',
    );
  const info = (member: string): string =>
    orDefault(textField(object, 'status', 'nodeInfo', member), '<unknown>');
  return [
    name(object),
    status.join(','),
    orDefault(roles.sort().join(','), '<none>'),
    age(object, now),
    textField(object, 'status', 'nodeInfo', 'kubeletVersion'),
    address('InternalIP'),
    address('ExternalIP'),
    info('osImage'),
    info('kernelVersion'),
    info('containerRuntimeVersion'),
  ];
}

export function eventCells(object: JsonObject, now: number): Json[] {
  const about =
    memberObject(object, 'involvedObject').kind === undefined ? 'regarding' : 'involvedObject';
  const first =
    textField(object, 'firstTimestamp') ||
    textField(object, 'deprecatedFirstTimestamp') ||
    textField(object, 'eventTime');
  const series = textField(object, 'series', 'lastObservedTime');
  const last =
    series ||
    textField(object, 'lastTimestamp') ||
    textField(object, 'deprecatedLastTimestamp') ||
    first;
  const count =
    numberField(object, 'series', 'count') ||
    numberField(object, 'count') ||
    numberField(object, 'deprecatedCount') ||
    1;
  const kind = textField(object, about, 'kind').toLowerCase();
  const objectName = textField(object, about, 'name');
  const component =
    textField(object, 'source', 'component') ||
    textField(object, 'deprecatedSource', 'component') ||
    textField(object, 'reportingController') ||
    textField(object, 'reportingComponent');
  const host =
    textField(object, 'source', 'host') ||
    textField(object, 'deprecatedSource', 'host') ||
    textField(object, 'reportingInstance');
  return [
    sinceText(last, now),
    textField(object, 'type'),
    textField(object, 'reason'),
    objectName === '' ? kind : `${kind}/${objectName}`,
    textField(object, about, 'fieldPath'),
    host === '' ? component : `${component}, ${host}`,
    (textField(object, 'message') || textField(object, 'note')).trim(),
    sinceText(first, now),
    count,
    name(object),
  ];
}

export function jobCells(object: JsonObject, now: number): Json[] {
  const done = numberField(object, 'status', 'succeeded');
  const wanted = at(object, 'spec', 'completions');
  const parallel = numberField(object, 'spec', 'parallelism');
  const completions =
    typeof wanted === 'number'
      ? `${done}/${wanted}`
      : parallel > 1
        ? `${done}/1 of ${parallel}`
        : `${done}/1`;
  const start = textField(object, 'status', 'startTime');
  const end = textField(object, 'status', 'completionTime');
  const duration =
    start === '' ? '' : durationText((end === '' ? now : Date.parse(end)) - Date.parse(start));
  const hasCondition = (type: string): boolean =>
    objects(object, 'status', 'conditions').some(
      (each) => each.type === type && each.status === 'True',
    );
  const status =
    ['Complete', 'Failed'].find(hasCondition) ??
    (stringAt(metadataOf(object), 'deletionTimestamp') !== ''
      ? 'Terminating'
      : (['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(hasCondition) ?? 'Running'));
  return [
    name(object),
    status,
    completions,
    duration,
    age(object, now),
    ...containerCells(object, 'spec', 'template', 'spec'),
    selectorText(at(object, 'spec', 'selector')),
  ];
}

export function quotaCells(object: JsonObject): [requests: string, limits: string] {
  const hard = memberObject(memberObject(object, 'status'), 'hard');
  const used = memberObject(memberObject(object, 'status'), 'used');
  const rows = Object.keys(hard)
    .sort()
    .map((key) => {
      const row = `${key}: ${String(used[key] ?? '0')}/${String(hard[key])}`;
      return [key.startsWith('limits.'), row] as const;
    });
  const of = (limits: boolean): string =>
    rows
      .filter(([isLimit]) => isLimit === limits)
      .map(([, row]) => row)
      .join(', ');
  return [of(false), of(true)];
}

export function targetsCell(object: JsonObject): string {
  const cpu = at(object, 'spec', 'targetCPUUtilizationPercentage');
  if (cpu !== undefined) return `cpu: <unknown>/${String(cpu)}%`;
  const all = objects(object, 'spec', 'metrics').map((metric) => {
    const type = textField(metric, 'type');
    const of = memberObject(metric, type.charAt(0).toLowerCase() + type.slice(1));
    const utilization = at(of, 'target', 'averageUtilization');
    const value = textField(of, 'target', 'averageValue') || textField(of, 'target', 'value');
    const current = utilization === undefined ? value : `${String(utilization)}%`;
    return type === 'Resource'
      ? `${textField(of, 'name')}: <unknown>/${current}`
      : `<unknown>/${current}`;
  });
  if (all.length === 0) return '<none>';
  return all.length > 2
    ? `${all.slice(0, 2).join(', ')} + ${all.length - 2} more...`
    : all.join(', ');
}

export function ingressPorts(object: JsonObject): string {
  return listAt(object, 'spec', 'tls').length > 0 ? '80, 443' : '80';
}

export const ingressAddresses = (object: JsonObject): string =>
  objects(object, 'status', 'loadBalancer', 'ingress')
    .map((each) => textField(each, 'ip') || textField(each, 'hostname'))
    .filter((each) => each !== '')
    .join(',');

export const roleRef = (object: JsonObject): string =>
  `${textField(object, 'roleRef', 'kind')}/${textField(object, 'roleRef', 'name')}`;

export const subjectsCells = (object: JsonObject): string[] =>
  ['User', 'Group', 'ServiceAccount'].map((kind) =>
    objects(object, 'subjects')
      .filter((each) => each.kind === kind)
      .map((each) =>
        kind === 'ServiceAccount'
          ? `${textField(each, 'namespace')}/${textField(each, 'name')}`
          : textField(each, 'name'),
      )
      .join(', '),
  );

export const replicationCells = (object: JsonObject, now: number): Json[] => [
  name(object),
  numberField(object, 'spec', 'replicas'),
  numberField(object, 'status', 'replicas'),
  numberField(object, 'status', 'readyReplicas'),
  age(object, now),
  ...containerCells(object, 'spec', 'template', 'spec'),
];

export const storedData = (object: JsonObject): number =>
  Object.keys(memberObject(object, 'data')).length +
  Object.keys(memberObject(object, 'binaryData')).length;

export const volumeClass = (object: JsonObject, member = 'volumeAttributesClassName'): string =>
  orDefault(textField(object, 'spec', member), '<unset>');

export const REPLICAS_COLUMNS =
  'Name|Desired:integer|Current:integer|Ready:integer|Age|Containers*|Images*|Selector*';
export const EVENT_COLUMNS =
  'Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|Name*';
export const BINDING_COLUMNS = 'Name|Role|Age|Users*|Groups*|ServiceAccounts*';
export const POLICY_COLUMNS = 'Name|Validations:integer|ParamKind|Age';
export const nameAndAge = (object: JsonObject, now: number): Json[] => [
  name(object),
  age(object, now),
];

/** The first three of a list, and the number of the others. */
export function firstThree(all: readonly string[]): string {
  if (all.length === 0) return '<unset>';
  return all.length <= 3
    ? all.join(',')
    : `${all.slice(0, 3).join(',')} + ${all.length - 3} more...`;
}
