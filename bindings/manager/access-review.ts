/**
 * A filter for metrics that asks the API server who a bearer token belongs to (TokenReview) and
 * whether that user may read the path (SubjectAccessReview). controller-runtime:
 * pkg/metrics/filters/filters.go; apiserver: the delegating authenticator and authorizer.
 *
 * Invariants:
 * - Without a response of the API server no request passes.
 * - Of a token only the hash is cached, and only while its review is valid.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, systemClock } from '../base/clock.ts';
import { handleError } from '../base/handle-error.ts';
import { LRUExpire } from '../base/lru-expire.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Transport } from '../cache/index.ts';
import { requireTransport } from '../cache/rest/transport.ts';
import { RestClient } from '../client/rest-client.ts';
import { sendText, targetOf } from './router.ts';

/**
 * How long reviews are cached, and how long one may take, in milliseconds. controller-runtime:
 * filters.go.
 */
const AUTHENTICATED_MS = 60_000;
const ALLOWED_MS = 300_000;
const DENIED_MS = 30_000;
const REVIEW_MS = 10_000;
const CACHE_SIZE = 1000;

/** Options of {@link withAuthenticationAndAuthorization}. */
export interface AccessReviewOptions {
  /** Accepts only tokens for one of these audiences. Default: the API server's own. */
  audiences?: readonly string[] | undefined;
  clock?: Clock | undefined;
}

const NAMES = namesOf<AccessReviewOptions>()({ audiences: 1, clock: 1 });

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface TokenReview {
  readonly status?: { authenticated?: boolean; user?: User; audiences?: readonly string[] };
}

interface SubjectAccessReview {
  readonly status?: { allowed?: boolean };
}

/**
 * Makes a filter for the metrics and the extra handlers of a manager: a request needs the bearer
 * token of a user who may `get` its path. It responds with 401 without a valid token, with 403 if
 * the user may not, and with 500 if the API server did not respond within 10 s. controller-runtime:
 * filters.WithAuthenticationAndAuthorization.
 *
 * The manager's account needs the verb `create` on `tokenreviews` of `authentication.k8s.io` and on
 * `subjectaccessreviews` of `authorization.k8s.io`. The scraper's account needs a ClusterRole with
 * `nonResourceURLs: ['/metrics']` and `verbs: ['get']`. Serve metrics over HTTPS, because tokens
 * are sent to them: see the option `tls`.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const manager = newManager({
 *   transport,
 *   metrics: { bindAddress: ':8443', filter: withAuthenticationAndAuthorization(transport) },
 * });
 */
export function withAuthenticationAndAuthorization(
  transport: Transport,
  options: AccessReviewOptions = {},
): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  requireTransport('transport', transport);
  requireNames('options', options, 'option of this filter', NAMES);
  const reviews = new Reviews(transport, options);
  return async (request, response) => {
    const token = bearerOf(request);
    const user =
      token === undefined
        ? undefined
        : await reviews.userOf(token).catch(reportAsNull('authentication'));
    if (user === null) return refuse(response, 500, 'Authentication failed');
    if (user === undefined) return refuse(response, 401, 'Unauthorized');
    const verb = (request.method ?? '').toLowerCase();
    const { path } = targetOf(request);
    const allowed = await reviews.mayRead(user, verb, path).catch(reportAsNull('authorization'));
    if (allowed === null)
      return refuse(response, 500, `Authorization for user ${user.username} failed`);
    return allowed || refuse(response, 403, `Authorization denied for user ${user.username}`);
  };
}

class Reviews {
  readonly #client: RestClient;
  readonly #clock: Clock;
  readonly #audiences: readonly string[] | undefined;
  readonly #users: LRUExpire<{ user: User | undefined }>;
  readonly #allowed: LRUExpire<boolean>;

  constructor(transport: Transport, { audiences, clock = systemClock }: AccessReviewOptions) {
    this.#client = new RestClient(transport, { clock, onWarning: () => undefined });
    this.#clock = clock;
    this.#audiences = audiences;
    this.#users = new LRUExpire(CACHE_SIZE, clock);
    this.#allowed = new LRUExpire(CACHE_SIZE, clock);
  }

  /** `undefined` for a token that is not valid. */
  async userOf(token: string): Promise<User | undefined> {
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#users.get(key);
    if (known !== undefined) return known.user;
    const spec = {
      token,
      ...(this.#audiences === undefined ? {} : { audiences: this.#audiences }),
    };
    const { status = {} } = await this.#review<TokenReview>(
      'authentication.k8s.io',
      'TokenReview',
      spec,
    );
    // A server that does not support audiences returns none and has not checked them.
    const meant = this.#audiences?.some((audience) => status.audiences?.includes(audience)) ?? true;
    const user = status.authenticated === true && meant ? (status.user ?? {}) : undefined;
    this.#users.set(key, { user }, AUTHENTICATED_MS);
    return user;
  }

  async mayRead(
    { username, uid, groups, extra }: User,
    verb: string,
    path: string,
  ): Promise<boolean> {
    const spec = { user: username, uid, groups, extra, nonResourceAttributes: { path, verb } };
    const key = JSON.stringify(spec);
    const known = this.#allowed.get(key);
    if (known !== undefined) return known;
    const { status } = await this.#review<SubjectAccessReview>(
      'authorization.k8s.io',
      'SubjectAccessReview',
      spec,
    );
    const allowed = status?.allowed === true;
    this.#allowed.set(key, allowed, allowed ? ALLOWED_MS : DENIED_MS);
    return allowed;
  }

  async #review<R extends object>(group: string, kind: string, spec: object): Promise<R> {
    const abort = new AbortController();
    const timer = this.#clock.setTimer(() => abort.abort(), REVIEW_MS);
    try {
      const apiVersion = `${group}/v1`;
      const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`;
      const body = JSON.stringify({ apiVersion, kind, spec });
      return (await this.#client.send({ method: 'POST', path, body, signal: abort.signal })) as R;
    } finally {
      this.#clock.clearTimer(timer);
    }
  }
}

/** apiserver: authentication/request/bearertoken. */
function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers.authorization?.trim() ?? '')?.[1];
}

function refuse(response: ServerResponse, status: number, text: string): false {
  sendText(response, status, `${text}\n`);
  return false;
}

/** Reports the error and returns `null`. */
function reportAsNull(what: string): (error: unknown) => null {
  return (error) => {
    handleError(error, `${what} of a request for metrics`);
    return null;
  };
}
