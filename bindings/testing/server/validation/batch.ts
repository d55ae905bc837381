/** The rules of Jobs and CronJobs. kubernetes: pkg/apis/batch/validation/validation.go. */
import { isObject, type Json, type JsonObject, sameJson } from '../json.ts';
import { metadataChangeErrors } from '../registry/metadata.ts';
import { dnsLabel, qualifiedName, subdomain } from '../registry/names.ts';
import { namesIn } from './containers.ts';
import { cronSchedule } from './cron.ts';
import { labelSelector, readSelector } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { podTemplate } from './pod-spec.ts';

function job(object: Place): void {
  const spec = object.at('spec');
  generatedSelector(object);
  wholeSpec(spec);
  const completions = spec.at('completions').number;
  const name = object.in('metadata.name');
  const last = `${name.text}-${completions - 1}`;
  if (isIndexed(spec) && completions > 0 && dnsLabel(last).length > 0)
    name.invalid(`will not able to create pod with invalid DNS label: ${last}`);
  if (!object.isUpdate) return;
  // An update checks the rules of a create, and then those of the spec again.
  for (const error of metadataChangeErrors(object)) object.report(error);
  wholeSpec(spec);
  jobChange(object, spec);
}

function wholeSpec(spec: Place): void {
  jobSpec(spec);
  const selector = spec.at('selector');
  const templateLabels = spec.in('template.metadata.labels');
  if (selector.isSet) labelSelector(selector);
  else selector.required();
  if (readSelector(selector)?.(templateLabels.members) === false)
    templateLabels.invalid('`selector` does not match template `labels`');
}

const isIndexed = (spec: Place): boolean => spec.at('completionMode').text === 'Indexed';

/** Checks the generated labels by which a Job selects its Pods. */
function generatedSelector(object: Place): void {
  const spec = object.at('spec');
  if (spec.at('manualSelector').value === true || !spec.at('selector').isSet) return;
  const [name, uid] = [object.in('metadata.name').text, object.in('metadata.uid').text];
  const wanted: JsonObject = {
    'controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
  };
  const metadata = spec.in('template.metadata');
  for (const [key, value] of Object.entries(wanted)) {
    const at = metadata.at('labels').key(key);
    if (!at.isSet) at.required(`must be '${String(value)}'`);
    else if (at.value !== value) at.invalid(`must be '${String(value)}'`);
  }
  if (readSelector(spec.at('selector'))?.(wanted) === false)
    spec.at('selector').invalid('`selector` not auto-generated');
}

const MOST_PARALLEL = 100_000;
const COMPLETIONS_SOFT_LIMIT = 100_000;
const MOST_WHEN_MANY = 10_000;

function jobSpec(spec: Place): void {
  for (const member of [
    ...['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit'],
    ...['ttlSecondsAfterFinished', 'backoffLimitPerIndex', 'maxFailedIndexes'],
  ])
    spec.at(member).atLeast(0);
  const [perIndex, failed] = [spec.at('backoffLimitPerIndex'), spec.at('maxFailedIndexes')];
  if (failed.isSet && !perIndex.isSet) perIndex.required('when maxFailedIndexes is specified');
  const managedBy = spec.at('managedBy');
  if (managedBy.isSet) {
    domainPath(managedBy);
    if (managedBy.text.length > 63) managedBy.tooLong(63);
  }
  const mode = spec.at('completionMode');
  if (mode.isSet) mode.among(['NonIndexed', 'Indexed']);
  if (isIndexed(spec)) indexed(spec);
  if (!mode.isSet || mode.text === 'NonIndexed')
    for (const at of [perIndex, failed])
      if (at.isSet) at.invalid('requires indexed completion mode');
  const policy = spec.at('podFailurePolicy');
  if (policy.isSet) failurePolicy(policy, spec);
  const success = spec.at('successPolicy');
  if (success.isSet) {
    if (isIndexed(spec)) successPolicy(success, spec.at('completions').number);
    else success.invalid('requires indexed completion mode');
  }
  const replacement = spec.at('podReplacementPolicy');
  if (replacement.isSet)
    replacement.among(policy.isSet ? ['Failed'] : ['Failed', 'TerminatingOrFailed']);
  podTemplate(spec.at('template'));
  const restart = spec.in('template.spec.restartPolicy');
  if (restart.text === 'Always' || restart.isEmpty)
    restart.required('valid values: "OnFailure", "Never"');
  else if (restart.among(['OnFailure', 'Never']) && policy.isSet && restart.text !== 'Never')
    restart.invalid('only "Never" is supported when podFailurePolicy is specified');
}

function indexed(spec: Place): void {
  const [completions, parallelism, failed] = [
    spec.at('completions'),
    spec.at('parallelism'),
    spec.at('maxFailedIndexes'),
  ];
  if (!completions.isSet) completions.required('when completion mode is Indexed');
  if (parallelism.number > MOST_PARALLEL)
    parallelism.invalid(`must be less than or equal to ${MOST_PARALLEL}`);
  if (completions.isSet && failed.number > completions.number)
    failed.invalid('must be less than or equal to completions');
  if (failed.number > MOST_PARALLEL)
    failed.invalid(`must be less than or equal to ${MOST_PARALLEL}`);
  const isLarge = completions.number > COMPLETIONS_SOFT_LIMIT;
  if (!isLarge || !spec.at('backoffLimitPerIndex').isSet) return;
  if (!failed.isSet) failed.required('must be specified when completions is above 100000');
  for (const at of [parallelism, failed])
    if (at.number > MOST_WHEN_MANY) at.invalid(`must be less than or equal to ${MOST_WHEN_MANY}`);
}

/** A path with a domain: `example.com/some/path`. */
function domainPath(at: Place): void {
  if (!at.need()) return;
  const [domain = '', ...path] = at.text.split('/');
  if (path.length === 0 || domain === '' || path.join('/') === '') {
    at.invalid('must be a domain-prefixed path (such as "acme.io/foo")');
    return;
  }
  at.matches(subdomain, domain);
  if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path.join('/'))) at.invalid('Invalid path');
}

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];

function failurePolicy(policy: Place, spec: Place): void {
  const rules = policy.at('rules');
  if (rules.items.length > 20) rules.tooMany(rules.items.length, 20);
  const names = namesIn(
    spec.in('template.spec.containers'),
    spec.in('template.spec.initContainers'),
  );
  for (const rule of rules.items) {
    const action = rule.at('action');
    const [codes, conditions] = [rule.at('onExitCodes'), rule.at('onPodConditions')];
    if (action.needAmong(ACTIONS) && action.text === 'FailIndex')
      if (!spec.at('backoffLimitPerIndex').isSet)
        action.invalid('requires the backoffLimitPerIndex to be set');
    if (codes.isSet) exitCodes(codes, names);
    if (conditions.items.length > 20) conditions.tooMany(conditions.items.length, 20);
    for (const pattern of conditions.items) {
      pattern.at('type').matches(qualifiedName);
      pattern.at('status').needAmong(['False', 'True', 'Unknown']);
    }
    if (codes.isSet === !conditions.isEmpty)
      rule.invalid('specifying one of OnExitCodes and OnPodConditions is required');
  }
}

function exitCodes(at: Place, names: ReadonlySet<string>): void {
  at.at('operator').needAmong(['In', 'NotIn']);
  const name = at.at('containerName');
  if (name.isSet && !names.has(name.text))
    name.invalid('must be one of the container or initContainer names in the pod template');
  const values = at.at('values');
  const numbers = values.items.map(({ number }) => number);
  if (values.isEmpty) values.invalid('at least one value is required');
  else if (numbers.length > 255) values.tooMany(numbers.length, 255);
  for (const [index, value] of values.items.entries()) {
    if (at.at('operator').text === 'In' && value.number === 0)
      value.invalid('must not be 0 for the In operator');
    if (numbers.indexOf(value.number) < index) value.duplicate();
  }
  if (numbers.some((number, index) => index > 0 && number < (numbers[index - 1] ?? 0)))
    values.invalid('must be ordered');
}

function successPolicy(policy: Place, completions: number): void {
  const rules = policy.at('rules');
  rules.need('at least one rules must be specified when the successPolicy is specified');
  if (rules.items.length > 20) rules.tooMany(rules.items.length, 20);
  for (const rule of rules.items) {
    const [count, indexes] = [rule.at('succeededCount'), rule.at('succeededIndexes')];
    if (!count.isSet && !indexes.isSet)
      rule.required('at least one of succeededCount or succeededIndexes must be specified');
    if (indexes.text.length > 65_536) indexes.tooLong(65_536);
    const total = indexCount(indexes.text, completions);
    if (total === undefined) indexes.invalid('error parsing succeededIndexes');
    count.atLeast(0);
    if (count.number > completions) count.invalid(`must be less than or equal to ${completions}`);
    if (indexes.isSet && count.number > (total ?? 0))
      count.invalid('must be less than or equal to the number of indexes in succeededIndexes');
  }
}

/** The number of indexes in `1,3-5`; undefined if the text is invalid for that many completions. */
function indexCount(text: string, completions: number): number | undefined {
  let [last, total] = [-1, 0];
  for (const part of text === '' ? [] : text.split(',')) {
    const [, from = '', , to] = /^(\d+)(-(\d+))?$/.exec(part) ?? [];
    const [first, end] = [Number(from), Number(to ?? from)];
    if (from === '' || end >= completions || first <= last || end < first) return undefined;
    if (to !== undefined && end === first) return undefined;
    total += end - first + 1;
    last = end;
  }
  return total;
}

function jobChange(object: Place, spec: Place): void {
  const completions = spec.at('completions');
  if (!isIndexed(spec)) completions.immutable();
  else if (completions.isChanged && completions.isSet) {
    if (completions.number !== spec.at('parallelism').number)
      completions.invalid('can only be modified in tandem with parallelism');
  }
  spec.at('selector').immutable();
  templateChange(object, spec);
  for (const member of [
    ...['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy'],
    'successPolicy',
  ])
    spec.at(member).immutable();
}

/** A suspended Job may change scheduling directives and resources of its template. */
function templateChange(object: Place, spec: Place): void {
  const template = spec.at('template');
  const isSuspended = spec.at('suspend').was === true;
  const hasStarted = object.in('status.startTime').before.isSet;
  if (!isSuspended) {
    template.immutable();
    return;
  }
  const plain = (value: Json | undefined): Json => templateLess(value, !hasStarted);
  if (!sameJson(plain(template.value), plain(template.was)))
    spec.at('template.spec').invalid('field is immutable');
}

function templateLess(value: Json | undefined, isFree: boolean): Json {
  if (!isObject(value) || !isObject(value.spec)) return value ?? null;
  const drop = (object: JsonObject, ...names: string[]): JsonObject =>
    Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
  const resourceless = (list: Json | undefined): Json =>
    Array.isArray(list)
      ? list.map((item: Json) => (isObject(item) ? { ...drop(item, 'resources') } : item))
      : null;
  const { containers, initContainers, affinity, ...rest } = value.spec;
  const others = isObject(affinity) ? drop(affinity, 'nodeAffinity') : {};
  return {
    ...(isFree
      ? drop(rest, 'nodeSelector', 'tolerations', 'schedulingGates')
      : { ...rest, affinity: affinity ?? null }),
    ...(isFree ? { others } : {}),
    containers: resourceless(containers),
    initContainers: resourceless(initContainers),
  };
}

const isTrue = (status: Place, type: string): boolean =>
  status
    .at('conditions')
    .items.some((item) => item.at('type').text === type && item.at('status').text === 'True');

function jobStatus(object: Place): void {
  const [spec, status] = [object.at('spec'), object.at('status')];
  for (const member of ['active', 'succeeded', 'failed', 'ready', 'terminating'])
    status.at(member).atLeast(0);
  const seen = new Set<string>();
  for (const list of ['succeeded', 'failed'])
    for (const item of status.at('uncountedTerminatedPods').at(list).items) {
      if (item.isEmpty) item.invalid('must not be empty');
      else if (seen.has(item.text)) item.duplicate();
      seen.add(item.text);
    }
  const conditions = status.at('conditions');
  const [complete, failed] = [isTrue(status, 'Complete'), isTrue(status, 'Failed')];
  const [target, met] = [isTrue(status, 'FailureTarget'), isTrue(status, 'SuccessCriteriaMet')];
  const done = status.at('completionTime');
  const start = status.at('startTime');
  if (complete && failed) conditions.invalid('cannot set Complete=True and Failed=true conditions');
  if (complete && target)
    conditions.invalid('cannot set Complete=True and FailureTarget=true conditions');
  if (done.isSet && !complete)
    done.invalid('cannot set completionTime when there is no Complete=True condition');
  if (!done.isSet && complete) done.required('completionTime is required for Complete jobs');
  if (start.isSet && done.isSet && Date.parse(done.text) < Date.parse(start.text))
    done.invalid('must be equal to or after `startTime`');
  if (failed && !target)
    conditions.invalid('cannot set Failed=True without the FailureTarget=true condition');
  if (complete && !met)
    conditions.invalid('cannot set Complete=True without the SuccessCriteriaMet=true condition');
  if (complete || failed) finished(status);
  indexes(spec, status);
  const ready = status.at('ready');
  if (ready.isSet && ready.number > status.at('active').number)
    ready.invalid('cannot set more ready pods than active');
  if (met && failed)
    conditions.invalid('cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (met && target)
    conditions.invalid('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (spec.at('successPolicy').isSet && !met && complete)
    conditions.invalid('cannot set Complete=True unless SuccessCriteriaMet=True');
  jobStatusChange(spec, status);
}

function finished(status: Place): void {
  if (status.at('active').number > 0)
    status.at('active').invalid('active>0 is invalid for finished job');
  if (!status.at('startTime').isSet)
    status.at('startTime').required('startTime is required for finished job');
  const uncounted = status.at('uncountedTerminatedPods');
  if (!uncounted.at('failed').isEmpty || !uncounted.at('succeeded').isEmpty)
    uncounted.invalid('must be empty for finished job');
  if (status.at('terminating').number > 0)
    status.at('terminating').invalid('terminating>0 is invalid for finished job');
}

function indexes(spec: Place, status: Place): void {
  const [done, failed] = [status.at('completedIndexes'), status.at('failedIndexes')];
  const perIndex = spec.at('backoffLimitPerIndex').isSet;
  const completions = spec.at('completions');
  if (completions.isSet && indexCount(done.text, completions.number) === undefined)
    done.invalid('error parsing completedIndexes');
  if (completions.isSet && perIndex && indexCount(failed.text, completions.number) === undefined)
    failed.invalid('error parsing failedIndexes');
  if (!done.isEmpty && !isIndexed(spec))
    done.invalid('cannot set non-empty completedIndexes when non-indexed completion mode');
  if (!perIndex && failed.isSet)
    failed.invalid('cannot set non-null failedIndexes when backoffLimitPerIndex is null');
}

function jobStatusChange(spec: Place, status: Place): void {
  const { before } = status;
  const conditions = status.at('conditions');
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (isTrue(before, type) && !isTrue(status, type))
      conditions.invalid(`cannot disable the terminal ${type}=True condition`);
  for (const member of ['failed', 'succeeded'])
    if (status.at(member).number < before.at(member).number)
      status.at(member).invalid(`cannot decrease the ${member} counter`);
  const [done, start] = [status.at('completionTime'), status.at('startTime')];
  if (done.isSet && done.was !== undefined) done.immutable();
  if (start.was !== undefined && spec.at('suspend').value !== true)
    start.immutable('field is immutable for unsuspended job once set');
  const met = 'SuccessCriteriaMet';
  if (isTrue(before, met) && !isTrue(status, met))
    conditions.invalid('cannot disable the SuccessCriteriaMet=True condition');
  if (isTrue(before, 'Complete') && !isTrue(before, met) && isTrue(status, met))
    conditions.invalid('cannot set SuccessCriteriaMet=True for a Job that is complete');
}

/** The controller appends 11 characters to the name of a CronJob. */
const LONGEST_NAME = 63 - 11;

function cronJob(object: Place): void {
  const spec = object.at('spec');
  const schedule = spec.at('schedule');
  if (schedule.need()) {
    for (const why of cronSchedule(schedule.text)) schedule.invalid(why);
    const hadZone = typeof schedule.was === 'string' && schedule.was.includes('TZ');
    if (schedule.text.includes('TZ') && (!hadZone || spec.at('timeZone').isSet))
      schedule.invalid('cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  }
  spec.at('startingDeadlineSeconds').atLeast(0);
  if (!object.isUpdate || spec.at('timeZone').isChanged) timeZone(spec.at('timeZone'));
  spec.at('concurrencyPolicy').needAmong(['Allow', 'Forbid', 'Replace']);
  const template = spec.in('jobTemplate.spec');
  jobSpec(template);
  if (template.at('selector').isSet)
    template.at('selector').invalid('`selector` will be auto-generated');
  if (template.at('manualSelector').value === true)
    template.at('manualSelector').notSupported(['nil', 'false']);
  spec.at('successfulJobsHistoryLimit').atLeast(0);
  spec.at('failedJobsHistoryLimit').atLeast(0);
  const name = object.in('metadata.name');
  if (!object.isUpdate && name.text.length > LONGEST_NAME)
    name.invalid(`must be no more than ${LONGEST_NAME} characters`);
  // The real server reports this last, by declarative validation.
}

function timeZone(at: Place): void {
  if (!at.isSet) return;
  const parts = at.text.split('/');
  const isName = (part: string): boolean =>
    part !== '.' && part !== '..' && !part.startsWith('-') && /^[A-Za-z.\-_0-9+]{1,14}$/.test(part);
  if (at.isEmpty || !parts.every(isName)) {
    at.invalid(`unknown time zone ${at.text}`);
    return;
  }
  if (at.text.toLowerCase() === 'local') {
    at.invalid('timeZone must be an explicit time zone');
    if (at.text === 'Local') return;
  }
  if (!isZone(at.text)) at.invalid(`unknown time zone ${at.text}`);
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export const batch: RuleTable = {
  'batch/jobs': { object: job, status: jobStatus },
  'batch/cronjobs': { object: cronJob },
};
