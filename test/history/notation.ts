/**
 * Histories in a short notation, for the tests of the rules. `a1` is object a at version 1, with
 * generated content unless it is written `a1:text`; `-a3` is its deletion at version 3.
 *
 * - `writes('a1 b2 a3 -b4')`
 * - `list('2', 'a1 b2')`: a list without a resourceVersion, answered at 2
 * - `watch('2', 'a3 -b4 *4')`: a watch from 2; `*` is a bookmark, `*!` the bookmark that ends
 *   initial events, `!410` an error
 * - `told('a1 b2', 'a1>3 -b4')`: initial adds, then notifications: `a5` adds, `a1>3` updates, `-b4`
 *   deletes, `~b2` is a tombstone of b2
 */
import type {
  Frame,
  HandlerRecord,
  History,
  ListRecord,
  RequestRecord,
  State,
  Told,
  WatchRecord,
  Write,
} from '../helpers/history/history.ts';
import { Truth } from '../helpers/history/truth.ts';

const TOKEN = /^([-~]?)([a-z]+)(\d+)(?:>(\d+))?(?::(.*))?$/;

interface Token {
  mark: string;
  key: string;
  version: bigint;
  to: bigint | undefined;
  content: string | undefined;
}

const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');

function parse(word: string): Token {
  const [, mark = '', key = '', version = '', to, content] = TOKEN.exec(word) ?? [];
  if (key === '') throw new SyntaxError(`not in the notation of histories: ${word}`);
  return {
    mark,
    key,
    version: BigInt(version),
    to: to === undefined ? undefined : BigInt(to),
    content,
  };
}

const contentAt = (key: string, version: bigint): string => `${key} as of ${version}`;

function state(word: string): State {
  const { key, version, content } = parse(word);
  return { key, version, content: content ?? contentAt(key, version) };
}

export function writes(text: string): Truth {
  return new Truth(
    words(text).map((word): Write => {
      const { mark, key, version, content } = parse(word);
      return {
        key,
        version,
        content: mark === '-' ? undefined : (content ?? contentAt(key, version)),
      };
    }),
  );
}

export const states = (text: string): State[] => words(text).map(state);

export function listRecord(version: string, items: string, complete = true): ListRecord {
  return {
    type: 'list',
    asked: '',
    status: 200,
    version: BigInt(version),
    items: states(items),
    complete,
  };
}

/** Takes types and contents of events from the writes, so that a test spells out only the fault. */
export function watchRecord(
  truth: Truth,
  from: string,
  frames: string,
  initial = false,
): WatchRecord {
  return {
    type: 'watch',
    from,
    initial,
    status: 200,
    frames: words(frames).map((word) => frame(truth, word)),
  };
}

function frame(truth: Truth, word: string): Frame {
  if (word.startsWith('!')) return { type: 'ERROR', code: Number(word.slice(1)) };
  if (word.startsWith('*')) {
    const initialEventsEnd = word.endsWith('!');
    return { type: 'BOOKMARK', version: BigInt(word.slice(1).replace('!', '')), initialEventsEnd };
  }
  const { mark, key, version, content } = parse(word);
  const before = truth.state(key, version - 1n);
  if (mark === '-')
    return { type: 'DELETED', key, version, content: content ?? before?.content ?? '' };
  const type = before === undefined ? 'ADDED' : 'MODIFIED';
  return { type, key, version, content: content ?? contentAt(key, version) };
}

/** @param initial the initial adds; `rest` the notifications after them */
export function handlerRecord(
  truth: Truth,
  initial: string,
  rest = '',
  options: Partial<HandlerRecord> = {},
): HandlerRecord {
  const first = words(initial).map(
    (word): Told => ({ ...state(word), type: 'add', initial: true }),
  );
  const then = words(rest).map((word): Told => {
    const { mark, key, version, to, content } = parse(word);
    if (to !== undefined) {
      return {
        type: 'update',
        key,
        version: to,
        old: version,
        content: content ?? contentAt(key, to),
      };
    }
    const own = content ?? contentAt(key, version);
    if (mark === '~') return { type: 'tombstone', key, version, content: own };
    if (mark === '') return { type: 'add', key, version, content: own, initial: false };
    return {
      type: 'delete',
      key,
      version,
      content: content ?? truth.state(key, version - 1n)?.content ?? '',
    };
  });
  return { name: 'h', late: false, resync: false, told: [...first, ...then], ...options };
}

export function history(
  truth: Truth,
  requests: readonly RequestRecord[],
  handlers: readonly HandlerRecord[] = [],
  options: Partial<History> = {},
): History {
  return { requests, handlers, cache: [...truth.asOf().values()], order: 'total', ...options };
}
