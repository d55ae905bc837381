/**
 * A result as the fragment of a link, and back. Browsers do not send the fragment to a server.
 *
 * A fragment is untrusted. Its length is limited before and after inflating, every value is checked
 * for type and range, works must be known, and texts are cut and stripped of control characters.
 * They are shown through textContent only.
 */
import { WORKS } from './plan.ts';
import {
  type Environment,
  MOST_BUCKETS,
  PERCENTILES,
  type Result,
  type ResultSpread,
  type Row,
  type Steady,
  type SteadySide,
} from './result.ts';

/** The version of the format. */
const PREFIX = '#r1.';
const LONGEST_FRAGMENT = 20_000;
const LONGEST_TEXT = 60_000;
const MOST_ROWS = 200;

/**
 * A pause is one character: a step of a logarithmic scale with 64 steps from a microsecond to 100
 * s.
 */
const STEPS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const DECADES = 8;
const LEAST_MS = 0.001;

export class ShareError extends Error {
  override get name(): string {
    return 'ShareError';
  }
}

function encodePauses(pauses: readonly number[]): string {
  return pauses
    .map((ms) => {
      const step = Math.round(
        (Math.log10(Math.max(ms, LEAST_MS) / LEAST_MS) / DECADES) * (STEPS.length - 1),
      );
      return STEPS[Math.min(step, STEPS.length - 1)];
    })
    .join('');
}

function decodePauses(value: unknown): number[] {
  const text = aText('pauses', value, MOST_BUCKETS + 1);
  return [...text].map((char) => {
    const step = STEPS.indexOf(char);
    if (step < 0) throw new ShareError('a pause expected a step of the scale');
    return LEAST_MS * 10 ** ((step / (STEPS.length - 1)) * DECADES);
  });
}

/** Four significant digits: a measurement has no more. */
const short = (value: number): number => Number(value.toPrecision(4));

function packSide(side: SteadySide): unknown[] {
  return [
    short(side.rate),
    short(side.cycleNs),
    side.latencies.map(short),
    side.delays.map(short),
    short(side.longest),
    side.stalls,
    short(side.stalledMs),
    encodePauses(side.pauses),
  ];
}

const packSpread = ({ ns, min, max }: ResultSpread): number[] => [
  short(ns),
  short(min),
  short(max),
];

function pack({ at, stopped, environment: e, rows, steady }: Result): unknown[] {
  return [
    Math.round(at / 1000),
    stopped ? 1 : 0,
    [
      e.version,
      e.coreBytes,
      e.browser,
      e.platform,
      e.threads,
      e.keyTable,
      short(e.resolutionMs),
      e.isolated ? 1 : 0,
      e.hidden ? 1 : 0,
    ],
    rows.map((row) => [
      WORKS.findIndex((work) => work.name === row.work),
      row.n,
      row.rounds,
      ...packSpread(row.capstan),
      ...packSpread(row.naive),
    ]),
    steady === undefined
      ? 0
      : [
          steady.live,
          steady.rate,
          steady.seconds,
          packSide(steady.capstan),
          packSide(steady.naive),
        ],
  ];
}

function aNumber(what: string, value: unknown, min: number, max: number): number {
  if (typeof value === 'number' && value >= min && value <= max) return value;
  throw new ShareError(`${what} expected a number from ${min} to ${max}`);
}

function aCount(what: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value)) return aNumber(what, value, min, max);
  throw new ShareError(`${what} expected a whole number`);
}

function aText(what: string, value: unknown, longest: number): string {
  if (typeof value === 'string' && value.length <= longest)
    return value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
  throw new ShareError(`${what} expected a text of at most ${longest} characters`);
}

function aList(what: string, value: unknown, least: number, most = least): unknown[] {
  if (Array.isArray(value) && value.length >= least && value.length <= most) return value;
  throw new ShareError(
    `${what} expected a list of ${least === most ? least : `${least} to ${most}`}`,
  );
}

function unpackSpread(values: readonly unknown[]): ResultSpread {
  const [ns, min, max] = values.map((value) => aNumber('a time', value, 1e-3, 1e12)) as [
    number,
    number,
    number,
  ];
  if (!(min <= ns && ns <= max))
    throw new ShareError('a median expected to lie between its extremes');
  return { ns, min, max };
}

function unpackRow(value: unknown): Row {
  const [work, n, rounds, ...times] = aList('a row', value, 9);
  return {
    work: WORKS[aCount('a work', work, 0, WORKS.length - 1)]?.name ?? '',
    n: aCount('keys', n, 1, 1e8),
    rounds: aCount('rounds', rounds, 1, 1e6),
    capstan: unpackSpread(times.slice(0, 3)),
    naive: unpackSpread(times.slice(3)),
  };
}

function unpackSide(value: unknown): SteadySide {
  const [rate, cycleNs, latencies, delays, longest, stalls, stalledMs, pauses] = aList(
    'a side of the steady load',
    value,
    8,
  );
  const times = (what: string, list: unknown): number[] =>
    aList(what, list, PERCENTILES.length).map((each) => aNumber(what, each, 0, 1e7));
  return {
    rate: aNumber('a rate', rate, 0, 1e9),
    cycleNs: aNumber('a cycle', cycleNs, 0, 1e12),
    latencies: times('latencies', latencies),
    delays: times('delays', delays),
    longest: aNumber('a pause', longest, 0, 1e7),
    stalls: aCount('stalls', stalls, 0, 1e9),
    stalledMs: aNumber('stalled time', stalledMs, 0, 1e9),
    pauses: decodePauses(pauses),
  };
}

function unpackSteady(value: unknown): Steady | undefined {
  if (value === 0) return undefined;
  const [live, rate, seconds, capstan, naive] = aList('the steady load', value, 5);
  return {
    live: aCount('live keys', live, 1, 1e8),
    rate: aNumber('a rate', rate, 1, 1e9),
    seconds: aNumber('seconds', seconds, 0.001, 1e5),
    capstan: unpackSide(capstan),
    naive: unpackSide(naive),
  };
}

function unpackEnvironment(value: unknown): Environment {
  const [version, coreBytes, browser, platform, threads, keyTable, resolutionMs, isolated, hidden] =
    aList('the environment', value, 9);
  if (keyTable !== 'wasm' && keyTable !== 'js')
    throw new ShareError('a key table expected "wasm" or "js"');
  return {
    version: aText('a version', version, 40),
    coreBytes: aCount('bytes', coreBytes, 0, 1e9),
    browser: aText('a browser', browser, 120),
    platform: aText('a platform', platform, 60),
    threads: aCount('threads', threads, 0, 1e5),
    keyTable,
    resolutionMs: aNumber('a resolution', resolutionMs, 0, 1e4),
    isolated: aCount('isolated', isolated, 0, 1) === 1,
    hidden: aCount('hidden', hidden, 0, 1) === 1,
  };
}

function unpack(value: unknown): Result {
  const [at, stopped, environment, rows, steady] = aList('a result', value, 5);
  const seen = new Set<string>();
  const unpacked = aList('rows', rows, 0, MOST_ROWS).map(unpackRow);
  for (const { work, n } of unpacked) {
    if (seen.has(`${work} ${n}`)) throw new ShareError('a row occurs twice');
    seen.add(`${work} ${n}`);
  }
  const result: Result = {
    at: aCount('a time of day', at, 1e9, 1e11) * 1000,
    stopped: aCount('stopped', stopped, 0, 1) === 1,
    environment: unpackEnvironment(environment),
    rows: unpacked,
    steady: unpackSteady(steady),
  };
  if (result.rows.length === 0 && result.steady === undefined)
    throw new ShareError('nothing was measured in it');
  return result;
}

/**
 * Reads a stream to its end. Throws if it is longer than any result, because a few bytes can
 * inflate to gigabytes.
 */
async function readAll(
  stream: ReadableStream<Uint8Array>,
  most: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new ShareError(`it is longer than ${most} bytes`);
    }
    parts.push(value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function through(
  bytes: Uint8Array<ArrayBuffer>,
  transform: CompressionStream | DecompressionStream,
  most: number,
) {
  return readAll(new Blob([bytes]).stream().pipeThrough(transform), most);
}

/** The fragment of a link that shows this result, with its `#`. */
export async function encodeResult(result: Result): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(pack(result)));
  const packed = await through(text, new CompressionStream('deflate-raw'), LONGEST_TEXT);
  const base64 = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''));
  return PREFIX + base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Whether a fragment is meant to be a result; others are ids of headings. */
export const looksShared = (fragment: string): boolean => /^#r\d/.test(fragment);

/** @throws ShareError for any fragment that is not a valid result */
export async function decodeResult(fragment: string): Promise<Result> {
  if (!fragment.startsWith(PREFIX)) throw new ShareError('this page does not know its format');
  if (fragment.length > LONGEST_FRAGMENT)
    throw new ShareError(`it is longer than ${LONGEST_FRAGMENT} characters`);
  const text = fragment.slice(PREFIX.length);
  if (!/^[A-Za-z0-9_-]+$/.test(text))
    throw new ShareError('it has characters that do not belong there');
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    const inflated = await through(bytes, new DecompressionStream('deflate-raw'), LONGEST_TEXT);
    return unpack(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(inflated)));
  } catch (error) {
    if (error instanceof ShareError) throw error;
    throw new ShareError('it is cut short or was changed on the way', { cause: error });
  }
}
