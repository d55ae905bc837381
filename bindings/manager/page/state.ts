/**
 * Makes the JSON of the live page from the manager's report: limited to the filter, with verdicts,
 * and redacted. It has no contents of objects. Texts from caches and errors occur only in JSON
 * strings, never as member names.
 */

import { nameOfError, textOfError } from '../../base/error-text.ts';
import type { Request } from '../../base/request.ts';
import type {
  ControllerReport,
  ErrorReport,
  KeyReport,
  RunReport,
} from '../../controller/index.ts';
import { rankOf } from '../../controller/report.ts';
import type { InformerReport, ManagerReport, ObjectReport, RunnableReport } from '../report.ts';
import { redact } from './redact.ts';
import { type Verdict, verdictsFor } from './verdict.ts';
import { ENDLESS_MS, hasFailed, label } from './words.ts';

/** The response of `GET /debug/capstan/state`. */
export interface LivePageState
  extends Omit<ManagerReport, 'controllers' | 'informers' | 'runnables'> {
  readonly filter: string;
  readonly limit: number;
  readonly controllers: readonly ControllerReport[];
  readonly informers: readonly InformerState[];
  readonly runnables: readonly RunnableReport[];
  /**
   * One for each controller if the filter matches one object: whether and why it is not reconciled.
   */
  readonly verdicts: readonly Verdict[];
  /** The objects that the filter matches if there are several; at most twenty. */
  readonly matches: readonly Request[];
  /** The keys of the informers that have the object of the verdicts. */
  readonly cachedIn: readonly string[];
}

/** An informer's report with its last failure as text. */
export type InformerState = Omit<InformerReport, 'lastFailure'> & {
  readonly lastFailure?: Omit<NonNullable<InformerReport['lastFailure']>, 'error'> & {
    readonly error: ErrorReport;
  };
};

export interface StateQuery {
  /** A part of `namespace/name`; '' matches all. */
  readonly filter: string;
  /** The most keys and runs of each controller. */
  readonly limit: number;
}

/** How many keys a controller ranks to choose those that are shown. */
export const KEYS_RANKED = 5000;
const MATCHES = 20;

/** @param found the result of `findObjects` for the filter; `undefined` without `find` */
export function stateOf(
  report: ManagerReport,
  { filter, limit }: StateQuery,
  found: readonly ObjectReport[] | undefined,
): LivePageState {
  const shown: ManagerReport = {
    ...report,
    controllers: report.controllers.map((controller) => limitReport(controller, filter, limit)),
  };
  const matches = filter === '' ? [] : matchesOf(filter, shown, found ?? []);
  const named =
    matches.length === 0 ? parseKey(filter) : matches.length === 1 ? matches[0] : undefined;
  const objects = found?.filter((object) => named !== undefined && label(object) === label(named));
  const informers = shown.informers.map(informerState);
  return {
    ...shown,
    filter,
    limit,
    informers,
    runnables: report.runnables.map((each) => withError(each, false)),
    verdicts: named === undefined ? [] : verdictsFor(named, shown, objects),
    matches: matches.length > 1 ? matches.slice(0, MATCHES) : [],
    cachedIn: [...new Set(objects?.map((object) => object.informer))],
  };
}

/**
 * JSON that is safe inside HTML and scripts too: characters that could end a string or an element
 * are escaped.
 */
export function toSafeJson(value: unknown): string {
  const finite = (_: string, each: unknown): unknown =>
    each === Number.POSITIVE_INFINITY ? ENDLESS_MS : each;
  return JSON.stringify(value, finite).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The object that the filter names exactly, or all whose `namespace/name` contains it. */
function matchesOf(
  filter: string,
  { controllers }: ManagerReport,
  found: readonly ObjectReport[],
): Request[] {
  const matches = new Map<string, Request>();
  for (const { keys, recent } of controllers) {
    for (const { namespace, name } of [...keys, ...recent])
      matches.set(label({ namespace, name }), { namespace, name });
  }
  for (const { namespace, name } of found)
    matches.set(label({ namespace, name }), { namespace, name });
  const exact = matches.get(filter);
  return exact === undefined ? [...matches.values()] : [exact];
}

/** A complete `namespace/name`, whether or not such an object exists. */
function parseKey(filter: string): Request | undefined {
  const [namespace = '', name = '', ...more] = filter.split('/');
  return namespace === '' || name === '' || more.length > 0 ? undefined : { namespace, name };
}

/**
 * Limits a report to the filter. The order of keys is: the named one, running, failing, ready,
 * delayed; the next to become ready first.
 */
function limitReport(
  controller: ControllerReport,
  filter: string,
  limit: number,
): ControllerReport {
  const strict = concernsSecrets(controller);
  const { sources, keys, recent, more } = controller;
  const named = (request: Request): number => Number(label(request) !== filter);
  const wanted = (request: Request): boolean =>
    `${request.namespace}/${request.name}`.includes(filter);
  const sorted = keys
    .filter(wanted)
    .sort(
      (a, b) => named(a) - named(b) || rank(a) - rank(b) || (a.waitingMs ?? 0) - (b.waitingMs ?? 0),
    );
  return {
    ...controller,
    sources: sources.map((source) =>
      source.problem === undefined
        ? source
        : { ...source, problem: redact(source.problem, strict) },
    ),
    hotLoops: controller.hotLoops
      .filter(wanted)
      .map((loop) => ({ ...loop, paths: loop.paths.map((path) => redact(path, strict)) })),
    keys: sorted
      .slice(0, limit)
      .map((key) => ({ ...key, lastError: key.lastError && redactError(key.lastError, strict) })),
    recent: recent
      .filter(wanted)
      .sort((a, b) => named(a) - named(b))
      .slice(0, limit)
      .map((run) => withError(run, strict)),
    more: more || sorted.length > limit,
  };
}

const rank = (key: KeyReport): number => rankOf(key.state, hasFailed(key));

function concernsSecrets({ groupKind, sources }: ControllerReport): boolean {
  return groupKind === 'Secret' || sources.some((source) => /\bsecrets?\b/i.test(source.name));
}

function withError<R extends Pick<RunReport | RunnableReport, 'error'>>(
  each: R,
  strict: boolean,
): R {
  return each.error === undefined ? each : { ...each, error: redactError(each.error, strict) };
}

function redactError(error: ErrorReport, strict: boolean): ErrorReport {
  return { name: redact(error.name), message: redact(error.message, strict), agoMs: error.agoMs };
}

function informerState(informer: InformerReport): InformerState {
  const { lastFailure, ...rest } = informer;
  if (lastFailure === undefined) return rest;
  const { error, ...failure } = lastFailure;
  const strict = /\bsecrets?\b/i.test(informer.resource);
  return {
    ...rest,
    lastFailure: {
      ...failure,
      error: redactError({ ...nameAndMessage(error), agoMs: failure.agoMs }, strict),
    },
  };
}

/** The name and message of any thrown value. */
export function nameAndMessage(error: unknown): Pick<ErrorReport, 'name' | 'message'> {
  return { name: nameOfError(error), message: textOfError(error) };
}
