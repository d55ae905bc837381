/**
 * The live page as a request handler: `/debug/capstan` is the page, `/debug/capstan/state` what it
 * shows, as JSON.
 *
 * What it keeps true: nothing is ever changed by a request; nobody is answered whom access.ts
 * refuses; the page is one file from this package, and may neither load nor send anything
 * elsewhere, by its policy.
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

/** What the live page shows, and to whom. */
export interface LivePageOptions {
  /** `manager.report()`. */
  state(options: ReportOptions): ManagerReport;
  /**
   * Where the objects are cached that a text names: `(text, limit) =>
   * findObjects(manager.cache.informers(), text, limit)`. Without it the page cannot tell an object
   * that is not in the cache from one that no event asked for.
   */
  find?(text: string, limit: number): readonly ObjectReport[];
  /**
   * Whether connections are answered that do not come from this machine. There is no
   * authentication: whoever reaches the port sees the names of objects and the errors. Default
   * false.
   */
  allowRemote?: boolean;
  /**
   * Names under which the page may be opened besides `localhost` and IP addresses. Default none.
   */
  hosts?: readonly string[];
}

const NAMES = namesOf<LivePageOptions>()({ state: 1, find: 1, allowRemote: 1, hosts: 1 });

/** Answers a request for the page; false where it is for something else. */
export type LivePageHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

const PATH = '/debug/capstan';
const LONGEST_FILTER = 600;
const LIMIT = 50;
const HIGHEST_LIMIT = 1000;

/**
 * The live page of a manager, for a server of one's own; a manager with the page switched on serves
 * it itself.
 *
 * - `GET /debug/capstan`: the page.
 * - `GET /debug/capstan/state?filter=&limit=`: its state ({@link LivePageState}). `filter` is a
 *   part of `namespace/name`; where it names one object, `verdicts` says for each controller why
 *   that is not reconciled. `limit` is 1 to 1000 keys and runs for each controller, 50 by default.
 *   400 for anything else.
 *
 * 403 on connections that are not from this machine (see `allowRemote`) or with the name of a
 * stranger in their address; 405 for all methods but GET. Texts of errors are shown without what
 * looks like a secret, contents of objects not at all.
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
  const { state, find, access } = checked(options);
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
    if (path !== `${PATH}/state`) return text(response, 404, `There is ${PATH} and ${PATH}/state.`);
    return answerState(response, new URLSearchParams(end < 0 ? '' : url.slice(end)), state, find);
  };
}

interface Settings extends Pick<LivePageOptions, 'state'> {
  readonly find: ReturnType<typeof rememberMisses> | undefined;
  readonly access: PageAccess;
}

function checked(options: LivePageOptions): Settings {
  requireNames('options', options, 'option of debugPage()', NAMES);
  const { allowRemote = false, hosts = [] } = options;
  requireFunction('options.state', options.state);
  if (options.find !== undefined) requireFunction('options.find', options.find);
  if (typeof allowRemote !== 'boolean')
    throw invalid('options.allowRemote', 'true or false', allowRemote);
  if (!Array.isArray(hosts) || !hosts.every((host) => typeof host === 'string'))
    throw invalid('options.hosts', 'an array of host names', hosts);
  return {
    state: (query) => options.state(query),
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
 * `find(text, limit, now)` in place of `find(text, limit)`; `now` is in milliseconds of any clock.
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
