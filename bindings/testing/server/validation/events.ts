/**
 * The rules of Events. They depend on the version of the request: those of events.k8s.io are
 * stricter. kubernetes: pkg/apis/core/validation/events.go.
 */
import { qualifiedName } from '../registry/names.ts';
import type { Place, RuleTable } from './place.ts';

/** Maximum lengths in characters. */
const MOST = { reportingInstance: 128, action: 128, reason: 128, note: 1024 };

/**
 * @param about the member with the object reference
 * @param reporter the member with the name of the controller
 */
function legacy(object: Place, about: string, reporter: string, note: string): void {
  const namespace = object.in('metadata.namespace').text;
  // Errors name the members of core/v1, except for the reporter.
  const regarding = object.at(about).at('namespace').as('involvedObject.namespace');
  const mismatch = 'does not match event.namespace';
  if (!object.at('eventTime').isSet) {
    const isThere = regarding.isEmpty ? namespace === 'default' : regarding.text === namespace;
    if (!isThere) regarding.invalid(mismatch);
    return;
  }
  if (regarding.isEmpty && namespace !== 'default' && namespace !== 'kube-system')
    regarding.invalid(mismatch);
  object.at(reporter).need();
  object.at(reporter).matches(qualifiedName);
  for (const name of ['reportingInstance', 'action', 'reason'] as const) {
    const at = object.at(name);
    at.need();
    if (at.text.length > MOST[name]) at.invalid(`can have at most ${MOST[name]} characters`);
  }
  const text = object.at(note).as('message');
  if (text.text.length > MOST.note) text.invalid(`can have at most ${MOST.note} characters`);
}

function series(object: Place): void {
  const at = object.at('series');
  if (!at.isSet) return;
  if (at.at('count').number < 2) at.at('count').invalid('should be at least 2');
  at.at('lastObservedTime').need();
}

/** The core/v1 names of members of events.k8s.io. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
  deprecatedSource: 'source',
};

const FIXED: readonly (readonly [member: string, told: string])[] = [
  ['regarding', 'involvedObject'],
  ['reason', 'reason'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['reason', 'reason'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingController', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
];

function event(object: Place): void {
  legacy(object, 'regarding', 'reportingController', 'note');
  if (object.isUpdate) {
    if (object.at('series').isChanged) series(object);
    for (const [member, told] of FIXED) object.at(member).as(told).immutable();
    return;
  }
  series(object);
  object.at('eventTime').need();
  const type = object.at('type');
  if (type.text !== 'Normal' && type.text !== 'Warning') type.invalid('has invalid value');
  for (const [member, told] of Object.entries(OLD_NAMES)) {
    const at = object.at(member);
    const isUsed =
      member === 'deprecatedSource' ? at.entries.some(([, v]) => !v.isEmpty) : !at.isEmpty;
    if (isUsed) at.as(told).invalid('needs to be unset');
  }
}

export const events: RuleTable = {
  '/events': {
    object: (object) => legacy(object, 'involvedObject', 'reportingComponent', 'message'),
  },
  'events.k8s.io/events': { object: event },
};
