/**
 * Parses and formats times as Go does, with its errors: the result is in UTC, a Time in whole
 * seconds and a MicroTime with six digits. Go: time.Parse; apimachinery: pkg/apis/meta/v1 Time and
 * MicroTime.
 */
import { formatTime } from '../../base/times.ts';

const TIME = '2006-01-02T15:04:05Z07:00';
const MICRO_TIME = '2006-01-02T15:04:05.000000Z07:00';

/**
 * A piece of a layout, the text that it matches, and the range of its number, which is checked
 * before the next piece.
 */
type Piece = readonly [piece: string, takes: RegExp, name?: string, least?: number, most?: number];

const PIECES: readonly Piece[] = [
  ['2006', /^\d{4}/],
  ['-', /^-/],
  ['01', /^\d{2}/, 'month', 1, 12],
  ['-', /^-/],
  ['02', /^\d{2}/],
  ['T', /^T/],
  ['15', /^\d{2}/, 'hour', 0, 23],
  [':', /^:/],
  ['04', /^\d{2}/, 'minute', 0, 59],
  [':', /^:/],
  ['05', /^\d{2}/, 'second', 0, 59],
];
const MICROS: Piece = ['.000000', /^\.\d{6}/];
/** A fraction of a second is accepted although the layout has none. */
const FRACTION = /^[.,]\d+/;
const ZONE: Piece = ['Z07:00', /^(?:Z|[+-]\d{2}:\d{2})/];

/** An error of Go's time.Parse. */
export class TimeError extends Error {}

/** The time in the form in which Go writes it. Throws TimeError. */
export function readTime(text: string, micro: boolean): string {
  const layout = micro ? MICRO_TIME : TIME;
  const fail = (why: string): TimeError =>
    new TimeError(`parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: ${why}`);
  const parts: string[] = [];
  let rest = text;
  const outOfRange = (what: string): TimeError =>
    new TimeError(`parsing time ${JSON.stringify(text)}: ${what} out of range`);
  const take = ([piece, pattern, name, least = 0, most = 0]: Piece): void => {
    const [found] = pattern.exec(rest) ?? [];
    if (found === undefined)
      throw fail(`cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(piece)}`);
    if (name !== undefined && (Number(found) < least || Number(found) > most))
      throw outOfRange(name);
    parts.push(found);
    rest = rest.slice(found.length);
  };
  PIECES.forEach(take);
  let fraction = '';
  if (micro) {
    take(MICROS);
    fraction = parts.pop() as string;
  } else {
    rest = rest.slice(FRACTION.exec(rest)?.[0].length ?? 0);
  }
  take(ZONE);
  if (rest !== '')
    throw new TimeError(
      `parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(rest)}`,
    );
  const [year, , month, , day, , hour, , minute, , second, zone] = parts as [string, ...string[]];
  const local = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // Some engines take a day that does not exist as one of the next month.
  if (Number.isNaN(local) || new Date(local).getUTCDate() !== Number(day)) throw outOfRange('day');
  const [, sign, hours, minutes] = /^([+-])(\d{2}):(\d{2})$/.exec(zone as string) ?? [];
  const offset =
    sign === undefined
      ? 0
      : (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -60_000 : 60_000);
  return `${new Date(local - offset).toISOString().slice(0, 19)}${fraction}Z`;
}

/** The time so many seconds later. Durations overflow as in Go. */
export function afterSeconds(time: string, seconds: number): string {
  const nanoseconds = BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n);
  return formatTime(Date.parse(time) + Number(nanoseconds / 1_000_000n));
}
