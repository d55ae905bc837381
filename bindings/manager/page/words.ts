/**
 * The texts of times, keys and causes, shared by the verdicts and the page. It has no imports at
 * run time, because the page's script contains it.
 */

import type { Request } from '../../base/request.ts';
import type { KeyReport } from '../../controller/report.ts';
import type { Cause, CauseObject } from '../../controller/source.ts';

/** Shown as endless; JSON has no Infinity. */
export const ENDLESS_MS = 1e15;

/** `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`; `12 ms` below a tenth of a second. */
export function span(ms: number): string {
  const positive = Math.max(0, ms);
  if (positive >= ENDLESS_MS) return 'an endless time';
  if (positive < 99.5) return `${Math.round(positive)} ms`;
  if (positive < 9950) return `${(positive / 1000).toFixed(1)} s`;
  const seconds = Math.round(positive / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return two(minutes, 'min', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  return hours < 48
    ? two(hours, 'h', minutes % 60, 'min')
    : two(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** The rate limiter counts requeues as failures, so an error or a retry must confirm them. */
export function hasFailed({ failures, lastError, causes }: KeyReport): boolean {
  return failures > 0 && (lastError !== undefined || causes.some(({ kind }) => kind === 'retry'));
}

function two(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
}

/** `namespace/name`, or the name of an object without a namespace. */
export function label({ namespace, name }: Request): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export function countOf(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/**
 * `update of Deployment demo/web (generationChanged)` or `retry 3 after an error`. With `request`,
 * objects in its namespace are shortened, and its own object is `the Website itself`.
 */
export function causeText(cause: Cause, request?: Request): string {
  const { kind, source, object, predicate, attempt } = cause;
  if (kind === 'retry') return `retry${attempt === undefined ? '' : ` ${attempt}`} after an error`;
  if (kind === 'requeue') return 'its last run asked for another';
  if (kind === 'requeueAfter') return 'its last run asked for another after a time';
  const by = predicate === undefined || predicate === '' ? '' : ` (${predicate})`;
  if (object === undefined)
    return kind === 'generic' ? `an event of ${source}${by}` : `${kind}, told by ${source}${by}`;
  const from = kind === 'generic' ? `, told by ${source}` : '';
  return `${kind} of ${objectText(object, source, request)}${from}${by}`;
}

function objectText(object: CauseObject, source: string, request: Request | undefined): string {
  const { kind, namespace, name } = object;
  if (request === undefined || namespace !== request.namespace) return `${kind} ${label(object)}`;
  return name === request.name && source.startsWith('for ')
    ? `the ${kind} itself`
    : `${kind} ${name}`;
}
