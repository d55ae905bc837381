/** The options of the server, with or without a socket, and their check. */
import { type Clock, requireClock, systemClock, wallNowOf } from '../../base/clock.ts';
import { invalid, requireBoolean, requireInteger } from '../../base/errors.ts';
import { namesOf } from '../../base/names.ts';
import type { ApiOptions } from './api.ts';
import type { Authorization } from './auth/access.ts';
import { requireUser, type ServerUser } from './auth/users.ts';

/** Options of the embedded server. The defaults are the real server's. */
export interface ServingOptions {
  /**
   * Milliseconds between bookmarks of a watch that allows them. Default 60 000, as the real
   * server's.
   */
  bookmarkInterval?: number | undefined;
  /**
   * How many events are kept for each resource; a watch or page from before them gets 410. Default
   * 10 000.
   */
  historySize?: number | undefined;
  /** The clock of bookmarks, timeoutSeconds, delays and timestamps. Default: the system's. */
  clock?: Clock | undefined;
  /**
   * The time when the server starts, in milliseconds since 1970; timestamps continue from it by the
   * clock. Default: the clock's time of day.
   */
  startTime?: number | undefined;
  /**
   * Milliseconds that a request waits for a resourceVersion that does not exist yet, before it gets
   * 504 and "Too large resource version". Default 3000, as the real server's; 0: no wait.
   */
  freshnessTimeout?: number | undefined;
  /**
   * How many events a client may be behind while its connection accepts no bytes; beyond that its
   * watch is ended in order, as the real server does with 10 to 1000. Default: no limit but the
   * history.
   */
  watchBuffer?: number | undefined;
  /**
   * Compresses watches for clients that accept gzip, each write as one member, as kube-apiserver
   * 1.37 does. Default false.
   */
  compressWatches?: boolean | undefined;
  /**
   * The accepted bearer tokens; other requests get 401. Default: no token is required. See
   * `setTokens`.
   */
  tokens?: readonly string[] | undefined;
  /**
   * Users by their bearer tokens. An unknown token gets 401; a request without one is
   * `system:anonymous` with RBAC, and otherwise gets 401. Tokens that the server made for a
   * ServiceAccount are always valid. Without `users` and `tokens` every request is of
   * `system:masters`.
   */
  users?: Readonly<Record<string, ServerUser>> | undefined;
  /**
   * `RBAC` authorizes requests by the Roles, ClusterRoles and bindings on the server, as
   * kube-apiserver with `--authorization-mode=RBAC`; its default ClusterRoles (`cluster-admin`,
   * `admin`, `edit`, `view`, `system:discovery` and more) exist from the start. `AlwaysAllow`, the
   * default, allows everything.
   */
  authorization?: Authorization | undefined;
  /**
   * Whether namespaces and custom kinds must exist before they are used, as on a real server: an
   * object in an unknown namespace, or of a kind without a definition, is 404. `false`: they need
   * not exist. Default: they need not exist until a client creates a Namespace, as tests do that
   * set up a cluster. From then on namespaces must exist and reads of an unknown kind are 404, but
   * the first object of a custom kind still defines it.
   */
  strict?: boolean | undefined;
}

export const SERVING_NAMES = namesOf<ServingOptions>()({
  bookmarkInterval: 1,
  historySize: 1,
  clock: 1,
  startTime: 1,
  freshnessTimeout: 1,
  watchBuffer: 1,
  compressWatches: 1,
  tokens: 1,
  users: 1,
  authorization: 1,
  strict: 1,
});

const AUTHORIZATIONS: readonly unknown[] = ['AlwaysAllow', 'RBAC'];

export type CheckedServing = Omit<ApiOptions, 'wallTime' | 'ofCluster'> &
  Required<Pick<ServingOptions, 'startTime'>>;

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireServingOptions(options: ServingOptions): CheckedServing {
  requireClock('clock', options.clock);
  const { bookmarkInterval = 60_000, historySize = 10_000, clock = systemClock } = options;
  const {
    startTime = wallNowOf(clock)(),
    freshnessTimeout = 3000,
    watchBuffer = Number.POSITIVE_INFINITY,
    compressWatches = false,
    users,
    authorization = 'AlwaysAllow',
  } = options;
  if (!(bookmarkInterval > 0)) throw invalid('bookmarkInterval', 'a number > 0', bookmarkInterval);
  requireBoolean('strict', options.strict);
  requireInteger('historySize', historySize, 0);
  if (typeof startTime !== 'number' || Number.isNaN(new Date(startTime).getTime()))
    throw invalid('startTime', 'milliseconds since 1970', startTime);
  if (!(freshnessTimeout >= 0))
    throw invalid('freshnessTimeout', 'a number >= 0', freshnessTimeout);
  if (!(watchBuffer >= 0)) throw invalid('watchBuffer', 'a number >= 0', watchBuffer);
  if (!AUTHORIZATIONS.includes(authorization))
    throw invalid('authorization', '"AlwaysAllow" or "RBAC"', authorization);
  for (const user of Object.values(users ?? {})) requireUser('users', user);
  return {
    users,
    authorization,
    bookmarkInterval,
    historySize,
    clock,
    startTime,
    freshnessTimeout,
    watchBuffer,
    compressWatches,
    strict: options.strict,
  };
}
