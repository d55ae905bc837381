/**
 * Computes the next content of the Secret with self-managed certificates, from its present content
 * and the time. No I/O, so that a test can run through years.
 *
 * An authority is replaced in two steps, because the API server must trust the new authority before
 * a replica serves a certificate of it:
 * 1. The new authority is added to the bundle. The certificate stays.
 * 2. After `overlap`, if the bundle is installed, the new authority signs a certificate.
 *
 * Invariants:
 * - Only the first authority of the bundle signs. The Secret is written by compare-and-swap.
 * - An older authority signs nothing after its successor was made. It stays in the bundle until the
 *   last certificate that it signed has expired. By then all replicas serve a newer one.
 */
import type { Certificate, CertificateMaker, KeyPair, Validity } from './x509.ts';

/** In milliseconds. */
export interface RotationTimes {
  /** How long an authority is valid. */
  readonly authority: number;
  /** How long a certificate is valid. */
  readonly serving: number;
  /** How long a new authority is in the bundle before it signs. */
  readonly overlap: number;
  /** How long before its creation a certificate is valid, as clocks differ. */
  readonly backdate: number;
  /** How often each replica reads the Secret; must be much shorter than `overlap`. */
  readonly read: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** An authority is valid for ten years, a certificate for 90 days. */
export const ROTATION_TIMES: RotationTimes = {
  authority: 3650 * DAY,
  serving: 90 * DAY,
  overlap: HOUR,
  backdate: HOUR,
  read: 60_000,
};

/** A certificate is renewed after this part of its validity. */
const RENEWED_AT = 2 / 3;

/** Limits the names of a certificate, which keeps the names of earlier versions of a program. */
const MOST_NAMES = 50;

/** The content of the Secret. */
export interface CertificateState {
  /** The private key of the first authority; empty if it is missing. */
  readonly authorityKey: string;
  /** The bundle, the newest first. */
  readonly authorities: readonly Certificate[];
  readonly serving: KeyPair | undefined;
}

export const NO_STATE: CertificateState = {
  authorityKey: '',
  authorities: [],
  serving: undefined,
};

/** The arguments of {@link nextState}. */
export interface PlanInput {
  readonly state: CertificateState;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly names: readonly string[];
  readonly times: RotationTimes;
  readonly maker: CertificateMaker;
  /** Whether the API server is known to trust the whole bundle. */
  readonly isInstalled: boolean;
}

/** Returns the next state, or the same object if nothing is due. */
export async function nextState(input: PlanInput): Promise<CertificateState> {
  const { now, maker, times } = input;
  let { state } = input;
  const [first] = state.authorities;
  const signer = first === undefined ? undefined : await maker.pair(first, state.authorityKey);
  if (signer === undefined || isDue(signer.certificate, now, times)) {
    const made = await maker.authority(
      'capstan-webhook-ca',
      validityOf(now, times.authority, times),
    );
    const { serving } = state;
    state = {
      authorityKey: made.key,
      authorities: [made.certificate, ...state.authorities],
      serving,
    };
  }
  return signed(input, trimmed(state, now, times));
}

/** Removes authorities whose certificates have all expired. */
function trimmed(state: CertificateState, now: number, times: RotationTimes): CertificateState {
  const kept = state.authorities.filter((authority, i) => {
    const successor = state.authorities[i - 1];
    if (successor === undefined) return true;
    const lastSigned = madeAt(successor, times);
    return now < authority.notAfter && now < lastSigned + times.serving;
  });
  return kept.length === state.authorities.length ? state : { ...state, authorities: kept };
}

async function signed(
  { now, names, times, maker, isInstalled }: PlanInput,
  state: CertificateState,
): Promise<CertificateState> {
  const [first] = state.authorities as readonly [Certificate];
  const { serving } = state;
  let all = names;
  if (serving !== undefined && (await isTrusted(serving, state, maker))) {
    const { certificate } = serving;
    const isFirst = await maker.isSignedBy(certificate, first);
    const isOld = isDue(certificate, now, times);
    const missing = without(names, certificate.names);
    if (isFirst && !isOld && missing.length === 0) return state;
    // A certificate of an older authority is served until the API server trusts the first one.
    const isEarly = now < madeAt(first, times) + times.overlap || !isInstalled;
    if (!isFirst && isEarly && now < certificate.notAfter) return state;
    // Replicas of an older version may need the other names, and would renew it for them.
    if (!isOld) all = [...names, ...without(certificate.names, names)].slice(0, MOST_NAMES);
  }
  const key = state.authorityKey;
  const validity = validityOf(now, times.serving, times);
  const notAfter = Math.min(validity.notAfter, first.notAfter);
  return {
    ...state,
    serving: await maker.sign({ certificate: first, key }, all, { ...validity, notAfter }),
  };
}

async function isTrusted(
  { certificate, key }: KeyPair,
  { authorities }: CertificateState,
  maker: CertificateMaker,
): Promise<boolean> {
  if ((await maker.pair(certificate, key)) === undefined) return false;
  for (const authority of authorities)
    if (await maker.isSignedBy(certificate, authority)) return true;
  return false;
}

/** Certificates have times in whole seconds. */
const validityOf = (now: number, length: number, { backdate }: RotationTimes): Validity => {
  const made = Math.floor(now / 1000) * 1000;
  return { notBefore: made - backdate, notAfter: made + length };
};

const madeAt = ({ notBefore }: Certificate, { backdate }: RotationTimes): number =>
  notBefore + backdate;

function isDue(certificate: Certificate, now: number, times: RotationTimes): boolean {
  const made = madeAt(certificate, times);
  return now >= made + (certificate.notAfter - made) * RENEWED_AT;
}

/** The names that are not among `others`. */
function without(names: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others.map(nameOf));
  return names.filter((name) => !known.has(nameOf(name)));
}

/** Certificates have IPv6 addresses in another form than they were given. */
const nameOf = (name: string): string =>
  name.includes(':') ? new URL(`http://[${name}]`).hostname : name.toLowerCase();
