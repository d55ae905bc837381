/**
 * The rules of flowcontrol.apiserver.k8s.io. kubernetes:
 * pkg/apis/flowcontrol/validation/validation.go.
 */
import { dnsLabel, subdomain } from '../registry/names.ts';
import type { Place, RuleTable } from './place.ts';

const GROUP = 'flowcontrol.apiserver.k8s.io';
const MOST_PRECEDENCE = 10_000;
const VERBS = [
  ...['create', 'delete', 'deletecollection', 'get', 'list'],
  ...['patch', 'proxy', 'update', 'watch'],
];

function flowSchema(object: Place): void {
  const spec = object.at('spec');
  const precedence = spec.at('matchingPrecedence');
  if (precedence.number <= 0) precedence.invalid('must be a positive value');
  if (precedence.number > MOST_PRECEDENCE)
    precedence.invalid(`must not be greater than ${MOST_PRECEDENCE}`);
  if (precedence.number === 1 && object.in('metadata.name').text !== 'exempt')
    precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1");
  const method = spec.at('distinguisherMethod');
  if (method.isSet) method.at('type').among(['ByNamespace', 'ByUser']);
  const level = spec.in('priorityLevelConfiguration.name');
  if (level.need('must reference a priority level')) level.matches(subdomain);
  for (const rule of spec.at('rules').items) {
    rule.at('subjects').need('subjects must contain at least one value');
    for (const each of rule.at('subjects').items) subject(each);
    const [resources, others] = [rule.at('resourceRules'), rule.at('nonResourceRules')];
    if (resources.isEmpty && others.isEmpty)
      rule.required('at least one of resourceRules and nonResourceRules has to be non-empty');
    for (const each of resources.items) resourceRule(each);
    for (const each of others.items) nonResourceRule(each);
  }
  conditions(object);
}

const SUBJECTS: Readonly<Record<string, string>> = {
  ServiceAccount: 'serviceAccount',
  User: 'user',
  Group: 'group',
};

function subject(at: Place): void {
  const kind = at.at('kind').text;
  const member = Object.hasOwn(SUBJECTS, kind) ? SUBJECTS[kind] : undefined;
  if (member === undefined) {
    at.at('kind').notSupported(['Group', 'ServiceAccount', 'User']);
    return;
  }
  const own = at.at(member);
  if (!own.isSet) own.required(`${member} is required when subject kind is '${kind}'`);
  else {
    const name = own.at('name');
    if (name.need() && kind === 'ServiceAccount' && name.text !== '*') name.matches(subdomain);
    if (kind === 'ServiceAccount' && own.at('namespace').need())
      own.at('namespace').matches(dnsLabel);
  }
  for (const other of Object.values(SUBJECTS))
    if (other !== member && at.at(other).isSet)
      at.at(other).forbidden(`${other} is forbidden when subject kind is '${kind}'`);
}

/** A list that must not be empty, and has `*` only alone; returns whether it has other items. */
function needAllOrSome(at: Place): boolean {
  if (!at.need('must contain at least one value')) return false;
  if (!at.items.some(({ text }) => text === '*')) return true;
  if (at.items.length > 1) at.invalid("if '*' is present, must not specify others");
  return false;
}

function verbs(at: Place): void {
  if (needAllOrSome(at) && at.items.some(({ text }) => !VERBS.includes(text)))
    at.notSupported(VERBS);
}

function resourceRule(rule: Place): void {
  verbs(rule.at('verbs'));
  for (const name of ['apiGroups', 'resources']) needAllOrSome(rule.at(name));
  const namespaces = rule.at('namespaces');
  const isOfCluster = rule.at('clusterScope').value === true;
  if (namespaces.isEmpty && isOfCluster) return;
  if (needAllOrSome(namespaces)) for (const each of namespaces.items) each.matches(dnsLabel);
}

function nonResourceRule(rule: Place): void {
  verbs(rule.at('verbs'));
  const urls = rule.at('nonResourceURLs');
  if (needAllOrSome(urls)) for (const each of urls.items) each.matches(urlPath);
}

function urlPath(path: string): string[] {
  if (path === '') return ['must not be empty'];
  if (path === '/') return [];
  if (!path.startsWith('/')) return ['must start with slash'];
  if (path.includes(' ')) return ['must not contain white-space'];
  if (path.includes('//')) return ['must not contain double slash'];
  const stars = path.split('*').length - 1;
  return stars > 1 || (stars === 1 && !path.endsWith('/*'))
    ? ['wildcard can only do suffix matching']
    : [];
}

function conditions(object: Place): void {
  const seen = new Set<string>();
  for (const item of object.in('status.conditions').items) {
    const type = item.at('type');
    if (seen.has(type.text)) type.duplicate();
    seen.add(type.text);
    type.need();
  }
}

function priorityLevel(object: Place): void {
  const spec = object.at('spec');
  const [type, limited, exempt] = [spec.at('type'), spec.at('limited'), spec.at('exempt')];
  if ((object.in('metadata.name').text === 'exempt') !== (type.text === 'Exempt'))
    type.invalid("must be 'Exempt' if and only if `name` is 'exempt'");
  if (type.text === 'Exempt') {
    if (limited.isSet) limited.forbidden('must be nil if the type is not Limited');
    shares(exempt);
  } else if (type.text === 'Limited') {
    if (exempt.isSet) exempt.forbidden('must be nil if the type is Limited');
    if (limited.isSet) limitedLevel(limited);
    else limited.required('must not be empty when type is Limited');
  } else type.needAmong(['Exempt', 'Limited']);
  conditions(object);
}

function shares(at: Place): void {
  at.at('nominalConcurrencyShares').atLeast(0);
  at.at('lendablePercent').between(0, 100);
}

function limitedLevel(at: Place): void {
  at.at('nominalConcurrencyShares').atLeast(0);
  const response = at.at('limitResponse');
  const [type, queuing] = [response.at('type'), response.at('queuing')];
  if (type.text === 'Reject') {
    if (queuing.isSet) queuing.forbidden('must be nil if the type is not Queue');
  } else if (type.text === 'Queue') {
    if (queuing.isSet) queues(queuing);
    else queuing.required('must not be empty if the type is Queue');
  } else type.needAmong(['Queue', 'Reject']);
  at.at('lendablePercent').between(0, 100);
  at.at('borrowingLimitPercent').atLeast(0);
}

const MOST_QUEUES = 10_000_000;
/** The number of bits of a hash, which chooses a hand of queues. */
const HASH_BITS = 60;

function queues(at: Place): void {
  const [length, deck, hand] = [at.at('queueLengthLimit'), at.at('queues'), at.at('handSize')];
  if (length.number <= 0) length.invalid('must be positive');
  if (deck.number <= 0) deck.invalid('must be positive');
  else if (deck.number > MOST_QUEUES) deck.invalid(`must not be greater than ${MOST_QUEUES}`);
  if (hand.number <= 0) hand.invalid('must be positive');
  else if (hand.number > deck.number)
    hand.invalid(`should not be greater than queues (${deck.number})`);
  else if (bitsFor(deck.number, hand.number) > HASH_BITS)
    hand.invalid(`the choice should not need more than ${HASH_BITS} bits of a hash`);
}

/** apiserver: shufflesharding.RequiredEntropyBits. */
const bitsFor = (deck: number, hand: number): number => Math.ceil(Math.log2(deck) * hand);

export const flowcontrol: RuleTable = {
  [`${GROUP}/flowschemas`]: { object: flowSchema, status: conditions },
  [`${GROUP}/prioritylevelconfigurations`]: { object: priorityLevel, status: conditions },
};
