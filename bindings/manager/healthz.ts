/**
 * Health checks over HTTP with the API server's paths and texts: all checks of an endpoint at its
 * root, each check at its own path, `?verbose` and `?exclude=name`. controller-runtime:
 * pkg/healthz/healthz.go.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { textOfError } from '../base/error-text.ts';
import { requireFunction } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { sendText, serveNotFound, targetOf } from './router.ts';

/**
 * A health check: it throws or rejects if something is wrong. It runs for each request and should
 * be fast: a kubelet waits for one second. controller-runtime: healthz.Checker.
 */
export type Checker = (request: IncomingMessage) => void | Promise<void>;

const ping: Checker = () => undefined;

/** Ready-made checks. */
export const healthz: {
  /** Always passes, so it fails only if the process does not respond. */
  readonly ping: Checker;
  /**
   * Fails with the text that `problem` returns, and passes while that is `undefined`.
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

/** One endpoint with its checks. Without checks it has `ping`. */
export class HealthHandler {
  readonly #checks = new Map<string, Checker>();
  readonly #logger: Logger;

  constructor(logger: Logger = silentLogger) {
    this.#logger = logger;
  }

  /** Adds a check, or replaces the one with the same name. */
  set(name: string, check: Checker): void {
    this.#checks.set(name, check);
  }

  /**
   * `path` is the rest of the URL path after the endpoint: empty, or `/` and the name of a check.
   */
  async serve(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Linear in the length of the path, which a client may choose: each run of slashes is read
    // once.
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
 * The reason is only shown at the path of the single check, because anyone may request all checks.
 */
function line({ name, outcome }: Result): string {
  if (outcome === 'failed') return `[-]${name} failed: reason withheld\n`;
  return `[+]${name} ${outcome === 'excluded' ? 'excluded: ok' : 'ok'}\n`;
}
