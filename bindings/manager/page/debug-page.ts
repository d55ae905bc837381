/**
 * The live page as a request handler: `/debug/capstan` is the page, `/debug/capstan/state` its data
 * as JSON.
 *
 * Invariants:
 * - No request changes anything.
 * - Requests that access.ts refuses get no data.
 * - The page is one file of this package. Its Content-Security-Policy forbids it to load or send
 *   anything elsewhere.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalid, requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { ReportOptions } from '../../controller/index.ts';
import { RECENT_RUNS } from '../../controller/run-history.ts';
import { livePage, livePagePolicy } from '../../generated/live-page.ts';
import type { ManagerReport, ObjectReport } from '../report.ts';
import { type PageAccess, refusal } from './access.ts';
import { redact } from './redact.ts';
import { KEYS_RANKED, nameAndMessage, stateOf, toSafeJson } from './state.ts';
import { label } from './words.ts';

/** Options of {@link debugPage}. */
export interface LivePageOptions {
  /** Returns `manager.report()`. */
  state(options: ReportOptions): ManagerReport;
  /**
   * Finds cached objects: `(text, limit) => findObjects(manager.cache.informers(), text, limit)`.
   * Without it the page cannot distinguish an object that is not in the cache from one that no
   * event requested.
   */
  find?(text: string, limit: number): readonly ObjectReport[];
  /** Returns `manager.accessRecord.text()`. Without it there is no `/debug/capstan/access`. */
  access?(): string;
  /**
   * Serves other machines too. The page has no authentication: everyone who reaches the port sees
   * names of objects and errors. Default false.
   */
  allowRemote?: boolean;
  /**
   * Host names under which the page may be opened besides `localhost` and IP addresses. Default
   * none.
   */
  hosts?: readonly string[];
}

const NAMES = namesOf<LivePageOptions>()({
  state: 1,
  find: 1,
  access: 1,
  allowRemote: 1,
  hosts: 1,
});

/** Responds to a request for the page. Returns false for any other path. */
export type LivePageHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

const PATH = '/debug/capstan';
const LONGEST_FILTER = 600;
const LIMIT = 50;
const HIGHEST_LIMIT = 1000;

/**
 * The live page of a manager for your own HTTP server. A manager with the option `debugPage` serves
 * it itself.
 *
 * - `GET /debug/capstan`: the page.
 * - `GET /debug/capstan/access`: what the program has asked the API server, for `capstan rbac`.
 * - `GET /debug/capstan/state?filter=&limit=`: its data, a {@link LivePageState}. `filter` is a
 *   part of `namespace/name`; if it matches one object, `verdicts` says for each controller why the
 *   object is not reconciled. `limit` is the most keys and runs of each controller, 1 to 1000,
 *   default 50. Other values get 400.
 *
 * The response is 403 for connections from other machines (see `allowRemote`) and for unknown host
 * names, and 405 for other methods than GET. Texts of errors are shown without anything that looks
 * like a secret, and contents of objects are not shown.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * import { createServer } from 'node:http';
 *
 * function listen(manager: { report(options: ReportOptions): ManagerReport }) {
 *   const page = debugPage({ state: (options) => manager.report(options) });
 *   const server = createServer((request, response) => {
 *     if (!page(request, response)) response.writeHead(404).end();
 *   });
 *   server.listen(6060, '127.0.0.1');
 * }
 */
export function debugPage(options: LivePageOptions): LivePageHandler {
  const { state, find, record, access } = checked(options);
  return (request, response) => {
    const url = request.url ?? '';
    const end = url.indexOf('?');
    const path = end < 0 ? url : url.slice(0, end);
    if (path !== PATH && !path.startsWith(`${PATH}/`)) return false;
    const refused = refusal(request, access);
    if (refused !== undefined) return text(response, 403, refused);
    if (request.method !== 'GET')
      return text(response, 405, 'The live page is only read: use GET.', { Allow: 'GET' });
    if (path === PATH || path === `${PATH}/`) return page(response);
    if (path === `${PATH}/access` && record !== undefined)
      return send(response, 200, 'application/x-ndjson', record());
    if (path !== `${PATH}/state`) return text(response, 404, `There is ${PATH} and ${PATH}/state.`);
    return answerState(response, new URLSearchParams(end < 0 ? '' : url.slice(end)), state, find);
  };
}

interface Settings extends Pick<LivePageOptions, 'state'> {
  readonly record: (() => string) | undefined;
  readonly find: ReturnType<typeof rememberMisses> | undefined;
  readonly access: PageAccess;
}

function checked(options: LivePageOptions): Settings {
  requireNames('options', options, 'option of debugPage()', NAMES);
  const { allowRemote = false, hosts = [] } = options;
  requireFunction('options.state', options.state);
  if (options.find !== undefined) requireFunction('options.find', options.find);
  if (options.access !== undefined) requireFunction('options.access', options.access);
  if (typeof allowRemote !== 'boolean')
    throw invalid('options.allowRemote', 'true or false', allowRemote);
  if (!Array.isArray(hosts) || !hosts.every((host) => typeof host === 'string'))
    throw invalid('options.hosts', 'an array of host names', hosts);
  return {
    state: (query) => options.state(query),
    record: options.access === undefined ? undefined : () => options.access?.() ?? '',
    find: options.find && rememberMisses((wanted, limit) => options.find?.(wanted, limit) ?? []),
    access: { allowRemote, hosts: new Set(hosts.map((host: string) => host.toLowerCase())) },
  };
}

function answerState(
  response: ServerResponse,
  query: URLSearchParams,
  state: LivePageOptions['state'],
  find: ReturnType<typeof rememberMisses> | undefined,
): boolean {
  const filter = (query.get('filter') ?? '').trim();
  const limit = query.get('limit') ?? String(LIMIT);
  if (filter.length > LONGEST_FILTER)
    return json(response, 400, {
      message: `"filter" expected at most ${LONGEST_FILTER} characters, got ${filter.length}`,
    });
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > HIGHEST_LIMIT)
    return json(response, 400, {
      message: invalid('limit', `an integer from 1 to ${HIGHEST_LIMIT}`, limit).message,
    });
  let body: string;
  try {
    const report = state({
      filter,
      limit: Math.max(Number(limit), RECENT_RUNS),
      among: KEYS_RANKED,
    });
    const found = filter === '' ? undefined : find?.(filter, LIMIT, report.now);
    body = toSafeJson(stateOf(report, { filter, limit: Number(limit) }, found));
  } catch (error) {
    const { name, message } = nameAndMessage(error);
    return json(response, 500, {
      message: `the manager's report failed: ${redact(`${name}: ${message}`)}`,
    });
  }
  return send(response, 200, 'application/json', body);
}

function page(response: ServerResponse): boolean {
  return send(response, 200, 'text/html; charset=utf-8', livePage, {
    'Content-Security-Policy': livePagePolicy,
  });
}

function json(response: ServerResponse, status: number, body: unknown): boolean {
  return send(response, status, 'application/json', toSafeJson(body));
}

function text(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): boolean {
  return send(response, status, 'text/plain; charset=utf-8', `${message}\n`, headers);
}

function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    ...headers,
  });
  response.end(body);
  return true;
}

type Find = (text: string, limit: number) => readonly ObjectReport[];

const AGAIN_AFTER_MS = 5000;
const TEXTS = 8;

/**
 * Caches searches that found no exact match, because the page asks every second and such a search
 * reads all keys: about 20 ms for 100 000. `now` is in milliseconds of any clock.
 */
function rememberMisses(
  find: Find,
): (text: string, limit: number, now: number) => readonly ObjectReport[] {
  const misses = new Map<string, { at: number; found: readonly ObjectReport[] }>();
  return (text, limit, now) => {
    const known = misses.get(text);
    if (known !== undefined && now - known.at < AGAIN_AFTER_MS) return known.found;
    const found = find(text, limit);
    misses.delete(text);
    if (!found.some((object) => label(object) === text)) misses.set(text, { at: now, found });
    const [oldest] = misses.keys();
    if (oldest !== undefined && misses.size > TEXTS) misses.delete(oldest);
    return found;
  };
}
