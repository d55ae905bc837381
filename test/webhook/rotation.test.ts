/**
 * The plan of self-managed certificates over decades of virtual time: replicas that look at any
 * time, that stop for weeks, and whose clocks differ; an API server that trusts what was installed
 * last. It must trust what any replica serves, at any time.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type CertificateState,
  NO_STATE,
  nextState,
  ROTATION_TIMES,
} from '../../bindings/webhook/rotation.ts';
import { type CertificateMaker, loadMaker } from '../../bindings/webhook/x509.ts';
import { Random, testSeed } from '../helpers/random.ts';

const seed = testSeed();
console.log(`test/webhook/rotation.test.ts: CAPSTAN_SEED=${seed}`);

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const START = Date.UTC(2026, 0, 1);
const names = ['web.default.svc', '127.0.0.1', '::1'];

let maker: CertificateMaker;
beforeAll(async () => {
  maker = remembering(await loadMaker());
});

/** Signatures and keys are checked again and again. */
function remembering(made: CertificateMaker): CertificateMaker {
  const known = new Map<string, Promise<unknown>>();
  const once = <V>(key: string, ask: () => Promise<V>): Promise<V> => {
    if (!known.has(key)) known.set(key, ask());
    return known.get(key) as Promise<V>;
  };
  return {
    ...made,
    isSignedBy: (one, by) => once(one.pem + by.pem, () => made.isSignedBy(one, by)),
    pair: (one, key) => once(one.pem + key, () => made.pair(one, key)),
  };
}

const plan = (state: CertificateState, now: number, more: { isInstalled?: boolean } = {}) =>
  nextState({ state, now, names, times: ROTATION_TIMES, maker, isInstalled: true, ...more });

const first = () => plan(NO_STATE, START);

async function signerOf({ serving, authorities }: CertificateState): Promise<number> {
  for (const [i, authority] of authorities.entries())
    if (serving && (await maker.isSignedBy(serving.certificate, authority))) return i;
  return -1;
}

describe('the plan', () => {
  test('begins with an authority of ten years and a certificate of ninety days', async () => {
    const { authorities, serving } = await first();
    expect(authorities).toHaveLength(1);
    expect(authorities[0]).toMatchObject({
      notBefore: START - HOUR,
      notAfter: START + 3650 * DAY,
    });
    expect(serving?.certificate).toMatchObject({
      notBefore: START - HOUR,
      notAfter: START + 90 * DAY,
      names: ['web.default.svc', '127.0.0.1', expect.stringContaining(':')],
    });
    expect(serving?.key).toContain('PRIVATE KEY');
  });

  test('changes nothing until two thirds of a certificate are over', async () => {
    const state = await first();
    expect(await plan(state, START + 60 * DAY - 1)).toBe(state);
    const renewed = await plan(state, START + 60 * DAY);
    expect(renewed.authorities).toEqual(state.authorities);
    expect(renewed.serving?.certificate.notAfter).toBe(START + 150 * DAY);
    expect(await signerOf(renewed)).toBe(0);
  });

  test('replaces an authority in two steps', async () => {
    let state = await first();
    const due = START + Math.ceil((3650 * DAY * 2) / 3);
    state = await plan(state, due - DAY); // the certificate alone
    const trusted = await plan(state, due);
    expect(trusted.authorities).toHaveLength(2);
    expect(trusted.serving).toBe(state.serving);
    expect(await signerOf(trusted)).toBe(1);
    expect(await plan(trusted, due + HOUR - 1000)).toBe(trusted);
    expect(await plan(trusted, due + 2 * HOUR, { isInstalled: false })).toBe(trusted);
    const served = await plan(trusted, due + 2 * HOUR);
    expect(await signerOf(served)).toBe(0);
    expect(served.authorities).toHaveLength(2);
  });

  test('does not serve what has expired because nothing is installed', async () => {
    const state = { ...(await first()), authorityKey: '' };
    const trusted = await plan(state, START + DAY, { isInstalled: false });
    expect(await signerOf(trusted)).toBe(1);
    const served = await plan(trusted, START + 91 * DAY, { isInstalled: false });
    expect(await signerOf(served)).toBe(0);
  });

  test('takes an authority away when the last that it signed has expired', async () => {
    const lost = { ...(await first()), authorityKey: '' };
    const two = await plan(lost, START + DAY);
    expect(two.authorities).toHaveLength(2);
    const later = await plan(two, START + 91 * DAY - 1);
    expect(later.authorities).toHaveLength(2);
    expect((await plan(later, START + 91 * DAY)).authorities).toEqual([two.authorities[0]]);
  });

  test('signs anew for other names, and for a pair that does not fit', async () => {
    const state = await first();
    const input = { state, now: START, times: ROTATION_TIMES, maker, isInstalled: true };
    const renamed = await nextState({ ...input, names: ['other.default.svc', 'WEB.default.svc'] });
    expect(renamed.serving?.certificate.names.slice(0, 3)).toEqual([
      'other.default.svc',
      'WEB.default.svc',
      '127.0.0.1',
    ]);
    const other = await first();
    const key = other.serving?.key ?? '';
    const broken = {
      ...state,
      serving: state.serving && { ...state.serving, key },
    };
    const mended = await plan(broken, START);
    expect(mended.serving?.key).not.toBe(key);
    expect(await signerOf(mended)).toBe(0);
    const foreign = await plan({ ...state, serving: other.serving }, START);
    expect(await signerOf(foreign)).toBe(0);
  });

  test('serves the names of two versions of a program, later those of one', async () => {
    const versions = [names, ['next.default.svc']] as const;
    const look = (state: CertificateState, now: number, version: 0 | 1) =>
      nextState({
        state,
        now,
        names: versions[version],
        times: ROTATION_TIMES,
        maker,
        isInstalled: true,
      });
    const both = await look(await first(), START + DAY, 1);
    expect(both.serving?.certificate.names).toHaveLength(4);
    expect(await look(both, START + DAY, 0)).toBe(both);
    expect(await look(both, START + DAY, 1)).toBe(both);
    const later = await look(both, START + 70 * DAY, 1);
    expect(later.serving?.certificate.names).toEqual(['next.default.svc']);
  });

  test('makes a new authority if it has lost the key of the first, and trusts both', async () => {
    const state = await first();
    for (const authorityKey of ['', 'damaged', (await first()).authorityKey]) {
      const next = await plan({ ...state, authorityKey }, START);
      expect(next.authorities).toHaveLength(2);
      expect(next.authorities[1]).toEqual(state.authorities[0]);
      expect(next.serving).toBe(state.serving);
    }
  });
});

test('at any time of fifteen years, what a replica serves is trusted and valid', async () => {
  const random = new Random(seed);
  const below = (n: number) => Math.floor(random.next() * n);
  let stored = await first();
  let version = 0;
  /** What the API server trusts. */
  let installed = stored;
  const replicas = Array.from({ length: 3 }, () => ({
    serves: stored,
    read: { state: stored, version },
    skew: below(10 * 60_000) - 5 * 60_000,
    next: START,
  }));
  const seen = { rotations: 0, renewals: 0, conflicts: 0, dropped: 0 };
  for (let now = START; now < START + 15 * YEAR; ) {
    const replica = replicas.reduce((a, b) => (a.next <= b.next ? a : b));
    now = replica.next;
    // Around a rotation they look every minute, else once in some days, at most after four weeks.
    const isMoving = stored.authorities.length > 1 && (await signerOf(stored)) > 0;
    replica.next += isMoving
      ? 60_000 + below(20 * 60_000)
      : DAY / 2 + below(below(4) * 9 * DAY + 1);
    // It may write by what it read a while ago: then its write is a conflict.
    if (below(10) > 0) replica.read = { state: stored, version };
    const { read } = replica;
    const planned = await plan(read.state, now + replica.skew, {
      isInstalled: installed.authorities.length === read.state.authorities.length,
    });
    if (planned !== read.state) {
      if (read.version === version) {
        if (planned.authorities.length > stored.authorities.length) seen.rotations++;
        if (planned.authorities.length < stored.authorities.length) seen.dropped++;
        if (planned.serving !== stored.serving) seen.renewals++;
        stored = planned;
        version++;
      } else {
        seen.conflicts++;
        replica.next = now + 1000;
      }
    }
    replica.read = { state: stored, version };
    replica.serves = stored;
    if (below(3) > 0) installed = stored;
    // The API server may have the previous bundle for as long as an installation takes.
    for (const { serves } of replicas) {
      const certificate = serves.serving?.certificate;
      if (certificate === undefined) throw new Error('a replica serves nothing');
      const trusting = await Promise.all(
        installed.authorities.map((authority) => maker.isSignedBy(certificate, authority)),
      );
      const at = new Date(now).toISOString();
      expect(trusting, `trusted at ${at}, CAPSTAN_SEED=${seed}`).toContain(true);
      expect(certificate.notAfter, `valid at ${at}, CAPSTAN_SEED=${seed}`).toBeGreaterThan(now);
    }
  }
  expect(seen.rotations).toBeGreaterThanOrEqual(2);
  expect(seen.dropped).toBeGreaterThanOrEqual(1);
  expect(seen.renewals).toBeGreaterThan(50);
  expect(seen.conflicts).toBeGreaterThan(0);
}, 180_000);
