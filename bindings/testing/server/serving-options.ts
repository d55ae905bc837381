/**
 * The options that a server has whether it is on a socket or in the process, checked before
 * anything is built.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { invalid, requireBoolean, requireInteger } from '../../base/errors.ts';
import { namesOf } from '../../base/names.ts';
import type { ApiOptions } from './api.ts';
import type { Authorization } from './auth/access.ts';
import { requireUser, type ServerUser } from './auth/users.ts';

/** How the embedded server serves; the defaults are as the real one's. */
export interface ServingOptions {
  /**
   * Milliseconds between the bookmarks of a watch that allows them. 60 000, as the real server's.
   */
  bookmarkInterval?: number | undefined;
  /**
   * How many events are kept for each resource; a watch or a page that needs older ones gets 410.
   * 10 000.
   */
  historySize?: number | undefined;
  /** What bookmarks, timeoutSeconds, delays and timestamps go by. The system's clock. */
  clock?: Clock | undefined;
  /**
   * What time it is when the server starts, in milliseconds since 1970: timestamps go on from there
   * by the clock. Now.
   */
  startTime?: number | undefined;
  /**
   * Milliseconds that a request waits for a version that does not exist yet, before it is answered
   * with 504 and "Too large resource version". 3000, as the real server's; 0: not at all.
   */
  freshnessTimeout?: number | undefined;
  /**
   * How many events a client may be behind while its connection takes no more bytes; beyond that
   * its watch is ended in order, as the real server does with 10 to 1000. Without end: only the
   * history is the limit.
   */
  watchBuffer?: number | undefined;
  /**
   * Watches are compressed for clients that accept gzip, one member for each write, as
   * kube-apiserver 1.37 does. false.
   */
  compressWatches?: boolean | undefined;
  /**
   * Who may: a request without one of these as its bearer token is 401. Anybody, when left out; see
   * `setTokens`.
   */
  tokens?: readonly string[] | undefined;
  /**
   * Users by their bearer tokens. A request with another token is 401; one with none is that of
   * `system:anonymous` under RBAC, and else 401. Tokens that the server made for a ServiceAccount
   * are always good. With neither `users` nor `tokens` everybody is in `system:masters`.
   */
  users?: Readonly<Record<string, ServerUser>> | undefined;
  /**
   * `RBAC`: requests are judged by the Roles, ClusterRoles and bindings that the server holds, as
   * kube-apiserver does with `--authorization-mode=RBAC`; the ClusterRoles that it begins with
   * (`cluster-admin`, `admin`, `edit`, `view`, `system:discovery` and more) are there.
   * `AlwaysAllow`, the default: every user may do everything.
   */
  authorization?: Authorization | undefined;
  /**
   * Whether namespaces and custom kinds have to be there before they are used, as on a real server:
   * an object in another namespace is 404, and so is a kind that no definition tells of. `false`:
   * nothing has to be there. By default that is so until a client creates a Namespace, as a test
   * does that sets up a cluster; from then on the first object of a custom kind still tells of it,
   * and reads before it are 404.
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
  const {
    bookmarkInterval = 60_000,
    historySize = 10_000,
    clock = systemClock,
    startTime = Date.now(),
  } = options;
  const {
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
