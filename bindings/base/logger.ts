/**
 * The logger interface: a message and fields. Any object with these four methods will do, such as
 * `console`. Nothing is logged without a logger; errors go to `setErrorHandler`.
 */
import { invalid, isError, requireFunction, requireObject } from './errors.ts';
import { handleError, tell } from './handle-error.ts';
import { explained } from './shared-object.ts';

/** The fields of a message, such as `{ controller, error }`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The methods of `console`: the message first, then the fields. They must not throw. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** The logger as one function. */
const loggerOf = (
  say: (level: keyof Logger, message: string, fields?: LogFields) => void,
): Logger => ({
  debug: (message, fields) => say('debug', message, fields),
  info: (message, fields) => say('info', message, fields),
  warn: (message, fields) => say('warn', message, fields),
  error: (message, fields) => say('error', message, fields),
});

/** Logs nothing: the default. */
export const silentLogger: Logger = loggerOf(() => undefined);

/**
 * A logger that adds `fields` to each message. Fields of the message itself win. logr:
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
 * Guards a logger: an error that it throws (a log file on a full disk, a closed stream at exit)
 * goes to the hook of `setErrorHandler`. So does the error that was to be logged.
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

/** The methods of pino (or a similar logger) that are used: the fields first, then the message. */
export interface PinoLike {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Adapts a pino logger. An error in the field `error` becomes `err`, which pino writes with
 * message, stack and causes.
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
  // pino itself takes the fields first and would drop the fields of every message.
  if ('setBindings' in (logger as object)) throw invalid(name, 'pinoLogger(logger)', logger);
}
