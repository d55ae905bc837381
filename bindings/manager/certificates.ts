/**
 * Key and certificate of a server, which may be renewed while it runs. controller-runtime:
 * pkg/certwatcher.
 *
 * Invariant: a server always has a pair that was whole when it was read: what cannot be read or
 * used is reported, and the last pair stays.
 */
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { handleError } from '../base/handle-error.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { sameJson } from '../client/merge-from.ts';

/**
 * Key and certificate as node:tls takes them, or a function that gives those of the moment, which
 * is asked each ten seconds.
 */
export type Certificates =
  | SecureContextOptions
  | (() => SecureContextOptions | Promise<SecureContextOptions>);

/** controller-runtime: pkg/certwatcher defaultWatchInterval. */
const ASK_MS = 10_000;

const NAMES = namesOf<{ cert: string; key: string }>()({ cert: 1, key: 1 });

/**
 * The pair in two files, such as those of a mounted Secret that cert-manager renews.
 *
 * @example
 * const tls = certificateFiles({ cert: '/certs/tls.crt', key: '/certs/tls.key' });
 * newManager({ transport, metrics: { bindAddress: ':8443', tls } });
 */
export function certificateFiles(paths: {
  cert: string;
  key: string;
}): () => Promise<SecureContextOptions> {
  requireNames('paths', paths, 'member of the paths', NAMES);
  return async () => {
    const [cert, key] = await Promise.all([
      readFile(paths.cert, 'utf8'),
      readFile(paths.key, 'utf8'),
    ]);
    return { cert, key };
  };
}

/** The first pair. Rejects where there is none: a server without one would refuse everybody. */
export async function firstCertificates(certificates: Certificates): Promise<SecureContextOptions> {
  return typeof certificates === 'function' ? certificates() : certificates;
}

/** Gives the server each new pair, until the function that is returned is called. */
export function renewCertificates(
  server: Server,
  certificates: Certificates,
  first: SecureContextOptions,
  clock: Clock,
): () => void {
  if (typeof certificates !== 'function') return () => undefined;
  let ended = false;
  // whoever asks may get the same object each time, with another pair in it
  let last = { ...first };
  const ask = async (): Promise<void> => {
    try {
      const next = await certificates();
      if (ended) return;
      // A pair that is set again costs every client its session.
      if (!sameJson(next, last)) {
        server.setSecureContext(next); // throws for a key that is not the certificate's: files are not renewed in one step
        last = { ...next };
      }
    } catch (error) {
      handleError(error, 'certificates of a server');
    }
    if (!ended) timer = clock.setTimer(() => void ask(), ASK_MS);
  };
  let timer = clock.setTimer(() => void ask(), ASK_MS);
  return () => {
    ended = true;
    clock.clearTimer(timer);
  };
}
