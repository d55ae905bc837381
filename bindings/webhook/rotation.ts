/**
 * The plan of self-managed certificates: what the Secret is to have next, from what it has and what
 * time it is. No I/O, so that years can be tried in a test.
 *
 * An authority is replaced in two steps, as the API server has to trust the new one before anybody
 * serves what it signed:
 * 1. The new authority is added to the bundle; the certificate stays.
 * 2. After `overlap`, and once the bundle is installed, the new authority signs a certificate.
 *
 * Invariants:
 * - The first authority of the bundle signs, no other. The Secret is written by compare-and-swap.
 * - So an older authority has signed nothing since its successor was made, and it stays in the
 *   bundle until what it signed last has expired. By then every replica serves something newer.
 */
import type { Certificate, CertificateMaker, KeyPair, Validity } from './x509.ts';

/** In milliseconds. */
export interface RotationTimes {
  /** How long an authority is valid. */
  readonly authority: number;
  /** How long a certificate is valid. */
  readonly serving: number;
  /** How long a new authority is only trusted, before it signs. */
  readonly overlap: number;
  /** How long before its making a certificate is valid, as clocks differ. */
  readonly backdate: number;
  /** How often each replica reads the Secret: several times in half of `overlap`. */
  readonly read: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Ten years and ninety days. */
export const ROTATION_TIMES: RotationTimes = {
  authority: 3650 * DAY,
  serving: 90 * DAY,
  overlap: HOUR,
  backdate: HOUR,
  read: 60_000,
};

/** A certificate is replaced after this part of its validity. */
const RENEWED_AT = 2 / 3;

/** A program that is started again and again under other names has no longer certificate. */
const MOST_NAMES = 50;

/** What a Secret has. */
export interface CertificateState {
  /** The key of the first authority; empty if it is not there. */
  readonly authorityKey: string;
  /** The newest first. */
  readonly authorities: readonly Certificate[];
  readonly serving: KeyPair | undefined;
}

export const NO_STATE: CertificateState = {
  authorityKey: '',
  authorities: [],
  serving: undefined,
};

/** What the plan has to know. */
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

/** The next state; the same one if nothing is due. */
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

/** The authorities without those that nothing which is valid was signed by. */
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
    // Another authority's certificate is served until the API server trusts the first.
    const isEarly = now < madeAt(first, times) + times.overlap || !isInstalled;
    if (!isFirst && isEarly && now < certificate.notAfter) return state;
    // Replicas of a former version may need the other names, and would sign anew for them.
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

/** Certificates tell seconds only. */
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
