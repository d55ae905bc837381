/**
 * A logger for people at a console, for development: one line a message, with time and level. For
 * programs that read logs use pino (`pinoLogger`).
 */
import { type Clock, requireClock, wallNowOf } from './clock.ts';
import {
  consoleLine,
  errorAsLine,
  FirstTimes,
  oneLine,
  orElse,
  stackBelow,
} from './console-line.ts';
import { environmentVariable } from './environment.ts';
import { textOfError } from './error-text.ts';
import { invalid, isError, requireBoolean, requireFunction } from './errors.ts';
import type { LogFields, Logger } from './logger.ts';
import { namesOf, requireNames } from './names.ts';

/** The level of a message. */
export type LogLevel = keyof Logger;

/** Options of {@link consoleLogger}. */
export interface ConsoleLoggerOptions {
  /** The least level that is written. Default `info`. */
  readonly level?: LogLevel | undefined;
  /**
   * Whether levels are coloured. Default: if stdout is a terminal, and the variable `NO_COLOR` is
   * empty or not set.
   */
  readonly colors?: boolean | undefined;
  /**
   * Gets each message as text without a line feed at its end; several lines if it has a stack.
   * Default: the method of `console` for the level.
   */
  readonly write?: ((text: string, level: LogLevel) => void) | undefined;
  /** The clock whose time of day is written. Default: the system's. */
  readonly clock?: Clock | undefined;
}

const NAMES = namesOf<ConsoleLoggerOptions>()({ level: 1, colors: 1, write: 1, clock: 1 });
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
const COLORS: Readonly<Record<LogLevel, number>> = { debug: 90, info: 36, warn: 33, error: 31 };

/**
 * Makes a logger for a console, for development. The parts of the package use it, with the
 * defaults, in place of `console`.
 *
 * A message is one line: time, level, message, fields, and the error if there is one. The fields
 * `namespace` and `name` become `object`, `retryAfter` (milliseconds) becomes `again`. An error is
 * shown by its class, code and message, and those of its causes. Its stack follows at the first
 * failure of an object (the same controller, namespace and name), of the last 1024 that failed, and
 * at each failure with the level `debug`. The kind and the id of a reconcile are shown with the
 * level `debug` only.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const manager = newManager({ transport, logger: consoleLogger({ level: 'debug' }) });
 * // 2026-01-05T08:00:00.000Z ERROR Reconciler error object=default/web controller=website
 * //   attempt=1 again=5ms: StatusError STATUS: PATCH …: 500 … (in one line)
 */
export function consoleLogger(options: ConsoleLoggerOptions = {}): Logger {
  requireNames('options', options, 'option of consoleLogger()', NAMES);
  const { level: least = 'info', colors = hasColors(), write = toConsole, clock } = options;
  if (!LEVELS.includes(least)) throw invalid('level', LEVELS.join(', '), least);
  requireBoolean('colors', colors);
  requireFunction('write', write);
  requireClock('clock', clock);
  const wallNow = wallNowOf(clock);
  const failures = new FirstTimes();
  const isDebug = least === 'debug';

  const say = (level: LogLevel, message: string, fields: LogFields = {}): unknown => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return undefined;
    const { error } = fields;
    const what = error === undefined ? '' : `: ${errorAsLine(error)}`;
    const line = consoleLine(wallNow(), level, message) + fieldsText(fields, isDebug) + what;
    const hasStack =
      error !== undefined && (failures.isFirst(subjectOf(message, fields)) || isDebug);
    const coloured = colors
      ? line.replace(/ (\w+)/, (_, word: string) => ` \u001b[${COLORS[level]}m${word}\u001b[39m`)
      : line;
    // a promise is returned, so that its rejection is reported
    return write(hasStack ? coloured + stackBelow(error) : coloured, level);
  };
  return {
    debug: (message, fields) => say('debug', message, fields),
    info: (message, fields) => say('info', message, fields),
    warn: (message, fields) => say('warn', message, fields),
    error: (message, fields) => say('error', message, fields),
  };
}

function toConsole(text: string, level: LogLevel): void {
  console[level](text);
}

function hasColors(): boolean {
  const stdout = globalThis.process?.stdout as { isTTY?: boolean } | undefined;
  return stdout?.isTTY === true && !environmentVariable('NO_COLOR');
}

/** What fails: an object of a controller, else what the message and its fields name. */
function subjectOf(message: string, fields: LogFields): string {
  const { controller, namespace, name, resource, part, source, lease } = fields;
  const parts = [controller ?? message, namespace, name, resource, part, source, lease];
  return parts.map(fieldText).join(' ');
}

const DETAILS: readonly string[] = ['controllerGroup', 'controllerKind', 'reconcileId'];

function fieldsText(fields: LogFields, isDebug: boolean): string {
  const { error: _, namespace = '', name, ...others } = fields;
  const isObject = typeof name === 'string' && typeof namespace === 'string';
  const object = isObject && namespace !== '' ? `${namespace}/${name}` : name;
  let text = '';
  for (const [key, value] of Object.entries(isObject ? { object, ...others } : fields)) {
    if (key === 'error' || value === undefined || (!isDebug && DETAILS.includes(key))) continue;
    text += key === 'retryAfter' ? ` again=${duration(value)}` : ` ${key}=${fieldText(value)}`;
  }
  return text;
}

/** A plain word as it is, an error as its line, and any other value as JSON. */
function fieldText(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@+-]+$/.test(value)) return oneLine(value);
  const json = () => JSON.stringify(isError(value) ? errorAsLine(value) : value);
  return oneLine(orElse(json, undefined) ?? textOfError(value)); // circular, a BigInt, a function
}

/** Milliseconds as `5ms`, `1.3s` or `16m40s`. */
function duration(ms: unknown): string {
  if (typeof ms !== 'number' || !Number.isFinite(ms)) return fieldText(ms);
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

let shared: Logger | undefined;

/** The console logger with the defaults, in place of `console`: the same one for all parts. */
export function inPlaceOfConsole(logger: Logger): Logger {
  if (logger !== globalThis.console) return logger;
  shared ??= consoleLogger();
  return shared;
}
