/**
 * Renews the key and certificate of a running server. controller-runtime: pkg/certwatcher.
 *
 * Invariant: a server always has a valid pair. If a new pair cannot be read or used, an error is
 * reported, and the server keeps the old pair.
 */
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { expositionText, metricFamily } from '../base/exposition.ts';
import { handleError } from '../base/handle-error.ts';
import { sameJson } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Collector } from '../controller/index.ts';

/**
 * Key and certificate as node:tls takes them, or a function that returns the current ones. The
 * function is called every ten seconds.
 */
export type Certificates =
  | SecureContextOptions
  | (() => SecureContextOptions | Promise<SecureContextOptions>);

/** In milliseconds. controller-runtime: pkg/certwatcher defaultWatchInterval. */
const CHECK_MS = 10_000;

const NAMES = namesOf<{ cert: string; key: string }>()({ cert: 1, key: 1 });

/**
 * Reads key and certificate from two files, for example of a mounted Secret that cert-manager
 * renews.
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

/** How often the certificates of a server were read, and how often in vain. */
export interface CertificateReads {
  readonly total: number;
  /** No pair came, or one that cannot be used. */
  readonly errors: number;
}

type Counted = { -readonly [N in keyof CertificateReads]: number };

/** The metrics of all readings. controller-runtime: pkg/certwatcher/metrics. */
export function certificateMetrics(all: () => Iterable<CertificateReads>): Collector {
  return {
    name: 'certificates',
    text() {
      const sums: Counted = { total: 0, errors: 0 };
      const some = [...all()];
      for (const { total, errors } of some) {
        sums.total += total;
        sums.errors += errors;
      }
      const counter = (name: string, help: string, value: number): string[] =>
        metricFamily('counter', name, help, some.length === 0 ? [] : [['', value]]);
      return expositionText([
        ...counter(
          'certwatcher_read_certificate_errors_total',
          'Total number of certificate read errors',
          sums.errors,
        ),
        ...counter(
          'certwatcher_read_certificate_total',
          'Total number of certificate reads',
          sums.total,
        ),
      ]);
    },
  };
}

/** The first pair. Rejects if there is none, because the server would refuse every connection. */
export async function firstCertificates(
  certificates: Certificates,
  reads: Counted,
): Promise<SecureContextOptions> {
  if (typeof certificates !== 'function') return certificates;
  reads.total++;
  try {
    return await certificates();
  } catch (error) {
    reads.errors++;
    throw error;
  }
}

/** Sets each new pair on the server until the returned function is called. */
export function renewCertificates(
  server: Server,
  certificates: Certificates,
  first: SecureContextOptions,
  clock: Clock,
  reads: Counted = { total: 0, errors: 0 },
): () => void {
  if (typeof certificates !== 'function') return () => undefined;
  let ended = false;
  // Copied, because the function may return the same object with changed members.
  let last = { ...first };
  const check = async (): Promise<void> => {
    reads.total++;
    try {
      const next = await certificates();
      if (ended) return;
      // Only if it changed: setting a pair ends all TLS sessions.
      if (!sameJson(next, last)) {
        // Throws if key and certificate do not match, which happens while the files are being
        // replaced.
        server.setSecureContext(next);
        last = { ...next };
      }
    } catch (error) {
      reads.errors++;
      handleError(error, 'certificates of a server');
    }
    if (!ended) timer = clock.setTimer(() => void check(), CHECK_MS);
  };
  let timer = clock.setTimer(() => void check(), CHECK_MS);
  return () => {
    ended = true;
    clock.clearTimer(timer);
  };
}
