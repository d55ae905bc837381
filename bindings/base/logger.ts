/**
 * How the machinery speaks: a message and what it is about, as fields. Any object with these four
 * methods will do, so `console` is one. Nothing logs unless it was given a logger: a library is
 * silent, and its errors go to `setErrorHandler`.
 */
import { invalid, isError, requireFunction, requireObject } from './errors.ts';
import { handleError, tell } from './handle-error.ts';
import { explained } from './shared-object.ts';

/** What a message is about, by name, such as `{ controller, error }`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** As `console` has them: the message first, then what it is about. Must not throw. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Its methods as one function. */
const loggerOf = (
  say: (level: keyof Logger, message: string, fields?: LogFields) => void,
): Logger => ({
  debug: (message, fields) => say('debug', message, fields),
  info: (message, fields) => say('info', message, fields),
  warn: (message, fields) => say('warn', message, fields),
  error: (message, fields) => say('error', message, fields),
});

/** Says nothing: the default. */
export const silentLogger: Logger = loggerOf(() => undefined);

/**
 * A logger that adds `fields` to all that it says; those of a single message win. logr:
 * Logger.WithValues.
 *
 * @example
 * const log = withFields(console, { controller: 'website' });
 * log.info('reconciled', { name: 'web' }); // reconciled { controller: 'website', name: 'web' }
 */
export function withFields(logger: Logger, fields: LogFields): Logger {
  return loggerOf((level, message, more) => logger[level](message, { ...fields, ...more }));
}

const guarded = new WeakSet<Logger>();

/**
 * A logger by which nothing ends that only wanted to say something: what it throws (a log file on a
 * full disk, a stream that was closed while the process ends) is reported to the hook of
 * `setErrorHandler`, and with it an error that it was told of, so that this is not lost.
 */
export function guardedLogger(logger: Logger): Logger {
  if (logger === silentLogger || guarded.has(logger)) return logger;
  const say = (level: keyof Logger, message: string, given: LogFields | undefined): void => {
    const fields = given && 'error' in given ? { ...given, error: explained(given.error) } : given;
    tell(
      () => (fields === undefined ? logger[level](message) : logger[level](message, fields)),
      'logger',
      () => fields !== undefined && 'error' in fields && handleError(fields.error, message),
    );
  };
  const safe = loggerOf(say);
  guarded.add(safe);
  return safe;
}

/** The part of pino (or of a logger like it) that is used: the fields first, then the message. */
export interface PinoLike {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * A pino logger as ours. An error in the field `error` is given to it as `err`: the name by which
 * pino writes errors, with message, stack and causes.
 *
 * @example
 * import { pino } from 'pino';
 *
 * const logger = pinoLogger(pino({ level: 'info' }));
 * logger.info('started', { controller: 'website' });
 */
export function pinoLogger(pino: PinoLike): Logger {
  return loggerOf((level, message, fields = {}) => {
    const { error, ...others } = fields;
    pino[level](isError(error) ? { ...others, err: error } : fields, message);
  });
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireLogger(name: string, logger: unknown): void {
  requireObject(name, logger);
  for (const level of Object.keys(silentLogger))
    requireFunction(`${name}.${level}`, (logger as Record<string, unknown>)[level]);
  // It would drop the fields of every message: it takes them first.
  if ('setBindings' in (logger as object)) throw invalid(name, 'pinoLogger(logger)', logger);
}
