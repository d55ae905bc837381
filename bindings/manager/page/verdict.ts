/**
 * Says for each controller, in a sentence, whether and why an object is not reconciled. The reasons
 * are tried from the general (the process stops, another one leads) to the particular (no event
 * requested it), and the first that applies is given. A verdict says only what the report knows.
 */

import type { Request } from '../../base/request.ts';
import type {
  Cause,
  ControllerReport,
  ErrorReport,
  KeyReport,
  RunReport,
} from '../../controller/index.ts';
import { RECENT_RUNS } from '../../controller/run-history.ts';
import type { InformerReport, LeaderReport, ManagerReport, ObjectReport } from '../report.ts';
import { causeText, countOf, hasFailed, span } from './words.ts';

/**
 * - `active`: it is being reconciled.
 * - `queued`: it will be reconciled when a worker is free or its delay ends.
 * - `failing`: it waits after failures, or failed with a terminal error.
 * - `done`: it was reconciled.
 * - `blocked`: this controller reconciles nothing at present.
 * - `idle`: no event requested it, or so long ago that the run is no longer in the history.
 */
export type VerdictState = 'active' | 'queued' | 'failing' | 'done' | 'blocked' | 'idle';

/** Why one controller does not reconcile an object, or that it does. */
export interface Verdict {
  readonly controller: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: VerdictState;
  /** One sentence. */
  readonly text: string;
  /** Further facts, one sentence each. */
  readonly notes: readonly string[];
  readonly error?: ErrorReport;
  readonly causes: readonly Cause[];
}

/** The cached objects of that name; `undefined` without `find`. */
export type CachedObjects = readonly ObjectReport[] | undefined;

type PartialVerdict = Pick<Verdict, 'state' | 'text'> & Partial<Verdict>;

/** One verdict for each controller. Controllers that know the object come first. */
export function verdictsFor(
  request: Request,
  report: ManagerReport,
  found: CachedObjects,
): Verdict[] {
  const { namespace, name } = request;
  const all = report.controllers.map((controller): Verdict => {
    const { causes = [], ...said } = verdictOf(request, controller, report, found);
    return {
      controller: controller.name,
      namespace,
      name,
      notes: [],
      ...said,
      causes: withOrigin(causes, request, controller),
    };
  });
  return all.sort((a, b) => rank(a) - rank(b));
}

const rank = ({ state, notes, causes }: Verdict): number =>
  state === 'idle' ? 2 : state === 'blocked' && notes.length === 0 && causes.length === 0 ? 1 : 0;

const AGAIN: ReadonlySet<Cause['kind']> = new Set(['retry', 'requeue', 'requeueAfter']);

/**
 * A request that is retried or requeued has the event that began it among the causes of earlier
 * runs.
 */
function withOrigin(
  causes: readonly Cause[],
  request: Request,
  { recent }: ControllerReport,
): readonly Cause[] {
  if (causes.length === 0 || causes.some(({ kind }) => !AGAIN.has(kind))) return causes;
  const earlier = recent
    .filter((run) => isFor(request, run))
    .map((run) => run.causes.filter(({ kind }) => !AGAIN.has(kind)));
  return [...(earlier.find((events) => events.length > 0) ?? []), ...causes];
}

function verdictOf(
  request: Request,
  controller: ControllerReport,
  report: ManagerReport,
  found: CachedObjects,
): PartialVerdict {
  const key = controller.keys.find((each) => isFor(request, each));
  const run = controller.recent.find((each) => isFor(request, each));
  const last =
    run === undefined
      ? []
      : [`Its last run here ended ${span(run.agoMs)} ago: ${outcomeText(run)}.`];
  if (key?.state === 'processing') return processing(key, controller, report);
  if (key?.state === 'failed') return failedTerminally(key.lastError, run?.causes ?? key.causes);
  const blocked = blockedText(controller, report);
  if (blocked !== undefined) {
    const queued = key === undefined ? [] : ['It is in the queue, and comes when that ends.'];
    const { lastError: error, causes = [] } = key ?? {};
    return { state: 'blocked', text: blocked, notes: [...queued, ...last], error, causes };
  }
  if (key?.state === 'ready') return ready(key, controller);
  if (key !== undefined) return waiting(key);
  const behind = cacheNotes(controller, report);
  if (run !== undefined)
    return { ...ended(run), notes: [...filteredNotes(run, controller, found), ...behind] };
  return { ...notRequested(controller, report, found), notes: behind };
}

const isFor = (a: Request, b: Request): boolean => a.namespace === b.namespace && a.name === b.name;

function processing(
  key: KeyReport,
  { state }: ControllerReport,
  report: ManagerReport,
): PartialVerdict {
  const since = key.sinceMs === undefined ? '' : ` for ${span(key.sinceMs)}`;
  const after = hasFailed(key) ? `, after ${countOf(key.failures, 'failure')}` : '';
  const text = `It is being reconciled${since}${after}.`;
  const notes =
    state === 'waiting for leadership'
      ? [`${leadershipText(report.leader)} No other run begins until then.`]
      : [];
  return { state: 'active', text, notes, error: key.lastError, causes: key.causes };
}

function ready(key: KeyReport, { queue, workers }: ControllerReport): PartialVerdict {
  const since = key.sinceMs === undefined ? '' : ` for ${span(key.sinceMs)}`;
  const all = workers === 1 ? 'the only worker is busy' : `all ${workers} workers are busy`;
  const busy =
    queue.processing >= workers ? all : `${queue.processing} of ${workers} workers are busy`;
  const others = `${countOf(queue.ready, 'request')} ${queue.ready === 1 ? 'is' : 'are'} ready`;
  const rank =
    key.priority === undefined || key.priority === 0 ? '' : ` Its priority is ${key.priority}.`;
  const text = `It has been ready${since}, and waits for a worker: ${busy}, ${others}.${rank}`;
  return {
    state: hasFailed(key) ? 'failing' : 'queued',
    text,
    error: key.lastError,
    causes: key.causes,
  };
}

function waiting(key: KeyReport): PartialVerdict {
  const time = key.waitingMs === undefined ? 'for its delay to end' : `${span(key.waitingMs)} more`;
  const { lastError: error, causes, failures } = key;
  if (hasFailed(key))
    return {
      state: 'failing',
      text: `It waits ${time}, after ${countOf(failures, 'failure')}.`,
      error,
      causes,
    };
  const asked = causes.some(({ kind }) => kind === 'requeueAfter' || kind === 'requeue');
  return {
    state: 'queued',
    text: `It waits ${time}${asked ? ', as its last run asked' : ''}.`,
    error,
    causes,
  };
}

function outcomeText({ outcome, requeueAfterMs, attempt }: RunReport): string {
  if (outcome === 'success') return 'it succeeded';
  if (outcome === 'error') return `it failed at attempt ${attempt}`;
  if (outcome === 'terminal') return 'it failed with a terminal error';
  if (outcome === 'aborted') return 'it was aborted by the end of the controller';
  const after = requeueAfterMs === undefined ? '' : ` after ${span(requeueAfterMs)}`;
  return `it asked to run again${after}`;
}

function failedTerminally(
  error: ErrorReport | undefined,
  causes: readonly Cause[],
): PartialVerdict {
  const when = error === undefined ? '' : ` ${span(error.agoMs)} ago`;
  const text =
    `It failed${when} with a terminal error, and is not tried again until an event asks ` +
    'for it.';
  return { state: 'failing', text, error, causes };
}

/** It has run and is not in the queue. */
function ended(run: RunReport): PartialVerdict {
  const { agoMs, tookMs, causes, error } = run;
  const why = causes[0] === undefined ? '' : ` because of: ${causeText(causes[0], run)}`;
  if (run.outcome === 'success') {
    const text =
      `It was reconciled successfully ${span(agoMs)} ago, in ${span(tookMs)}${why}. ` +
      'Nothing has asked for it since.';
    return { state: 'done', text, causes };
  }
  if (run.outcome === 'terminal') return failedTerminally(error, causes);
  const text =
    `Its last run ended ${span(agoMs)} ago: ${outcomeText(run)}. ` +
    'It is no longer in the queue.';
  return { state: run.outcome === 'error' ? 'failing' : 'done', text, error, causes };
}

/** Why the controller starts no reconcile at all. */
function blockedText(controller: ControllerReport, report: ManagerReport): string | undefined {
  if (report.stopping) return 'This process is ending, and begins nothing new.';
  switch (controller.state) {
    case 'ended':
      return 'This controller has ended.';
    case 'not started':
      return report.leader?.holdsLease === false
        ? `This controller has not started. ${leadershipText(report.leader)}`
        : 'This controller has not started.';
    case 'waiting for leadership':
      return leadershipText(report.leader);
    case 'warming up':
      return `This controller fills its caches and waits to lead. ${leadershipText(report.leader)}`;
    case 'waiting for caches': {
      const missing = controller.sources.filter((source) => !source.synced);
      const reasons = missing.map((source) => unsynced(source, report)).join('; ');
      return `This controller waits for its caches: ${reasons || 'not all have synced'}.`;
    }
    default:
      return undefined;
  }
}

function leadershipText(leader: LeaderReport | undefined): string {
  if (leader === undefined) return 'This process does not lead.';
  if (leader.holdsLease) return 'This process leads, and is about to begin.';
  if (leader.holder === leader.identity)
    return `The lease ${leader.lease} names this process, but was not renewed in time.`;
  if (leader.holder === undefined || leader.holder === '')
    return `This process does not lead: nobody is known to hold ${leader.lease}.`;
  const { validMs } = leader;
  const until =
    validMs === undefined
      ? ''
      : validMs > 0
        ? `, for ${span(validMs)} more unless it renews`
        : `, whose lease was to end ${span(-validMs)} ago`;
  return `This process does not lead: ${leader.holder} does${until}.`;
}

function unsynced(
  { name, problem, informer }: ControllerReport['sources'][number],
  { informers }: ManagerReport,
): string {
  const status = informers.find((each) => each.key === informer);
  const failure = status?.lastFailure;
  if (problem !== undefined && problem !== '') return `“${name}” has not synced (${problem})`;
  if (failure === undefined) return `“${name}” has not synced`;
  return `“${name}” has not synced (last failure ${span(failure.agoMs)} ago: ${failure.class})`;
}

/** Notes about a cache that is behind, because it may have missed a change of the object. */
function cacheNotes({ sources }: ControllerReport, { informers }: ManagerReport): string[] {
  return sources.flatMap(({ name, informer, problem, synced }) => {
    if (problem !== undefined && problem !== '')
      return [`The source “${name}” has a problem: ${problem}`];
    const status = informers.find((each) => each.key === informer);
    if (status === undefined || !synced) return [];
    return freshnessNotes(name, status);
  });
}

function freshnessNotes(name: string, status: InformerReport): string[] {
  const heard = status.lastSignOfLife;
  if (status.isStopped) return [`The cache of “${name}” has stopped: changes are no longer seen.`];
  if (status.state === 'watching' || status.lastFailure === undefined) return [];
  const since =
    heard === undefined
      ? 'nothing was heard from the server yet'
      : `last heard from the server ${span(heard)} ago`;
  return [`The cache of “${name}” may be behind: ${since} (${status.lastFailure.class}).`];
}

/**
 * If the cached version differs from the one that requested the last run, predicates have filtered
 * the events in between.
 */
function filteredNotes(
  run: RunReport,
  { sources }: ControllerReport,
  found: CachedObjects,
): string[] {
  const own = ownSource(sources, found);
  const asked = run.causes.findLast(
    ({ source, object }) => source === own?.name && object !== undefined && isFor(run, object),
  );
  const cached = found?.find((object) => object.informer === own?.informer)?.resourceVersion;
  const version = asked?.object?.resourceVersion;
  if (own === undefined || version === undefined || cached === undefined || version === cached)
    return [];
  if (own.events.filtered === 0) return [];
  return [
    `It has changed since, from version ${version} to ${cached}: ` +
      `the predicates of “${own.name}” filtered that.`,
  ];
}

/** The sources of `for`: one for each namespace if there are several. */
function ownSources(sources: ControllerReport['sources']): ControllerReport['sources'] {
  const own = sources.filter((source) => source.name.startsWith('for '));
  return own.length === 0 ? sources.slice(0, 1) : own;
}

/** The source whose cache has the object. */
function ownSource(
  sources: ControllerReport['sources'],
  found: CachedObjects,
): ControllerReport['sources'][number] | undefined {
  const own = ownSources(sources);
  return (
    own.find(({ informer }) => found?.some((object) => object.informer === informer)) ?? own[0]
  );
}

/** It is neither queued nor among the recent runs. */
function notRequested(
  controller: ControllerReport,
  report: ManagerReport,
  found: CachedObjects,
): PartialVerdict {
  const { sources, totals } = controller;
  const runs = Object.values(totals).reduce((sum, each) => sum + each, 0);
  const forgetful = runs > RECENT_RUNS;
  const neither = `neither in the queue nor among the last ${RECENT_RUNS} runs`;
  const notRequested = forgetful ? `It is ${neither}` : 'No event has asked for it';
  const before = forgetful
    ? ` It may have been reconciled before, among ${countOf(runs, 'run')}.`
    : '';
  const own = ownSource(sources, found);
  if (own === undefined)
    return { state: 'idle', text: `${notRequested}: this controller has no sources.` };
  const late = sources.find((source) => !source.synced);
  if (late !== undefined)
    return { state: 'blocked', text: `${notRequested}: ${unsynced(late, report)}.` };
  const { filtered, failed } = own.events;
  const refused =
    filtered === 0
      ? ''
      : ` Predicates have filtered ${countOf(filtered, 'event')} of “${own.name}” so far.`;
  const broken =
    failed === 0 ? '' : ` The handler of “${own.name}” has failed for ${countOf(failed, 'event')}.`;
  if (found === undefined || own.informer === undefined)
    return { state: 'idle', text: `${notRequested}.${before}${refused}${broken}` };
  if (found.some((object) => object.informer === own.informer)) {
    // The object is cached, so its event came: a predicate filtered it, or its run is no longer in
    // the history.
    const why = forgetful ? neither : 'no event has asked for it';
    return {
      state: 'idle',
      text: `It is in the cache of “${own.name}”, but ${why}.${before}${refused}${broken}`,
    };
  }
  const elsewhere = found.map(
    ({ informer }) => report.informers.find((each) => each.key === informer)?.resource ?? informer,
  );
  const others =
    elsewhere.length === 0
      ? ''
      : ` An object of this name is cached among ${[...new Set(elsewhere)].join(', ')}.`;
  const names = ownSources(sources).map((source) => `“${source.name}”`);
  const text =
    `It is not in the cache of ${names.join(' or ')}: it does not exist, or is outside of what ` +
    `is watched.${others}`;
  return { state: 'idle', text };
}
