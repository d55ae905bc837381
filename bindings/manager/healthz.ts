/**
 * Health checks over HTTP, in the words of the API server's: all checks of an endpoint at its root,
 * each at a path of its own, `?verbose` and `?exclude=name`. controller-runtime:
 * pkg/healthz/healthz.go.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { textOfError } from '../base/error-text.ts';
import { requireFunction } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { sendText, serveNotFound, targetOf } from './router.ts';

/**
 * Throws or rejects where something is wrong. It is run for each request and should answer soon:
 * kubelets wait for a second.
 */
export type Checker = (request: IncomingMessage) => void | Promise<void>;

const ping: Checker = () => undefined;

/** The checks that there are ready-made. */
export const healthz: {
  /** Always passes: whoever answers is alive. */
  readonly ping: Checker;
  /**
   * Fails with what `problem` says, and passes while that is `undefined`.
   *
   * @example
   * let broken: string | undefined;
   * newManager({ transport }).addReadyzCheck('database', healthz.unless(() => broken));
   */
  readonly unless: (problem: () => string | undefined) => Checker;
} = {
  ping,
  unless(problem) {
    requireFunction('problem', problem);
    return () => {
      const found = problem();
      if (found !== undefined) throw new Error(found);
    };
  },
};

interface Result {
  readonly name: string;
  readonly outcome: 'ok' | 'excluded' | 'failed';
}

/** One endpoint with its checks. Without any it has `ping`. */
export class HealthHandler {
  readonly #checks = new Map<string, Checker>();
  readonly #logger: Logger;

  constructor(logger: Logger = silentLogger) {
    this.#logger = logger;
  }

  /** A second check of a name takes the place of the first. */
  set(name: string, check: Checker): void {
    this.#checks.set(name, check);
  }

  /** `path` is what follows the endpoint: nothing, or `/` and the name of a check. */
  async serve(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // a run of slashes is looked at once: paths are hostile
    const name = decoded(path.replace(/^\/+|(?<!\/)\/+$/g, ''));
    const checks = this.#checks.size === 0 ? new Map([['ping', ping]]) : this.#checks;
    if (name === '') return this.#serveAll(checks, request, response);
    const check = name === undefined ? undefined : checks.get(name);
    if (check === undefined) return serveNotFound(request, response);
    try {
      await check(request);
      sendText(response, 200, 'ok');
    } catch (error) {
      sendText(response, 500, `internal server error: ${textOfError(error)}\n`);
    }
  }

  async #serveAll(
    checks: ReadonlyMap<string, Checker>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { query } = targetOf(request);
    const excluded = new Set(query.getAll('exclude'));
    const names = [...checks.keys()].sort((a, b) => (a < b ? -1 : 1));
    const results = await Promise.all(
      names.map(async (name): Promise<Result> => {
        if (excluded.delete(name)) return { name, outcome: 'excluded' };
        try {
          await (checks.get(name) as Checker)(request);
          return { name, outcome: 'ok' };
        } catch (error) {
          this.#logger.info('health check failed', { check: name, error });
          return { name, outcome: 'failed' };
        }
      }),
    );
    const failed = results.some(({ outcome }) => outcome === 'failed');
    if (!failed && !query.has('verbose')) return sendText(response, 200, 'ok');
    const lines = results.map(line);
    if (excluded.size > 0) {
      const unknown = [...excluded].map((name) => JSON.stringify(name)).join(',');
      lines.push(`warn: some health checks cannot be excluded: no matches for ${unknown}\n`);
    }
    lines.push(failed ? 'healthz check failed\n' : 'healthz check passed\n');
    sendText(response, failed ? 500 : 200, lines.join(''));
  }
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/**
 * Anyone may ask for all checks, so that reasons are told by the path of the single check alone.
 */
function line({ name, outcome }: Result): string {
  if (outcome === 'failed') return `[-]${name} failed: reason withheld\n`;
  return `[+]${name} ${outcome === 'excluded' ? 'excluded: ok' : 'ok'}\n`;
}
