/**
 * How the machinery speaks: a message and what it is about, as fields. Any object with these four methods will do, so `console` is one.
 * Nothing logs unless it was given a logger: a library is silent, and its errors go to `setErrorHandler`.
 */
import { requireFunction, requireObject } from './errors.ts';
import { handleError, tell } from './handle-error.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** As `console` has them: the message first, then what it is about. Must not throw. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const nothing = (): void => undefined;

/** Says nothing: the default. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * A logger that adds `fields` to all that it says; those of a single message win. logr: Logger.WithValues.
 *
 * @example
 * const log = withFields(console, { controller: 'website' });
 * log.info('reconciled', { name: 'web' }); // reconciled { controller: 'website', name: 'web' }
 */
export function withFields(logger: Logger, fields: LogFields): Logger {
  const all = (more: LogFields | undefined): LogFields => (more === undefined ? fields : { ...fields, ...more });
  return {
    debug: (message, more) => logger.debug(message, all(more)),
    info: (message, more) => logger.info(message, all(more)),
    warn: (message, more) => logger.warn(message, all(more)),
    error: (message, more) => logger.error(message, all(more)),
  };
}

const guarded = new WeakSet<Logger>();

/**
 * A logger by which nothing ends that only wanted to say something: what it throws (a log file on a full disk, a stream that was closed while the
 * process ends) is reported to the hook of `setErrorHandler`, and with it an error that it was told of, so that this is not lost.
 */
export function guardedLogger(logger: Logger): Logger {
  if (logger === silentLogger || guarded.has(logger)) return logger;
  const say = (level: keyof Logger, message: string, fields: LogFields | undefined): void => {
    tell(
      () => (fields === undefined ? logger[level](message) : logger[level](message, fields)),
      'logger',
      () => fields !== undefined && 'error' in fields && handleError(fields.error, message),
    );
  };
  const safe: Logger = {
    debug: (message, fields) => say('debug', message, fields),
    info: (message, fields) => say('info', message, fields),
    warn: (message, fields) => say('warn', message, fields),
    error: (message, fields) => say('error', message, fields),
  };
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
 * A pino logger as ours.
 *
 * @example
 * import { pino } from 'pino';
 *
 * const logger = pinoLogger(pino({ level: 'info' }));
 * logger.info('started', { controller: 'website' });
 */
export function pinoLogger(pino: PinoLike): Logger {
  return {
    debug: (message, fields = {}) => pino.debug(fields, message),
    info: (message, fields = {}) => pino.info(fields, message),
    warn: (message, fields = {}) => pino.warn(fields, message),
    error: (message, fields = {}) => pino.error(fields, message),
  };
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireLogger(name: string, logger: unknown): void {
  requireObject(name, logger);
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    requireFunction(`${name}.${level}`, (logger as Partial<Logger>)[level]);
  }
}
