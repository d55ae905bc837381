/**
 * Short runs of the scripts that measure a large queue under load: the report is complete, the
 * flags are checked, and machine-independent limits hold. They run the built package.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Figure } from '../../bench/measure/figures.ts';
import { readFlags } from '../../bench/measure/flags.ts';
import type { Memory } from '../../bench/queue/memory-load.ts';
import type { Pauses } from '../../bench/queue/pauses-load.ts';

const run = promisify(execFile);
const LIVE = 100_000;

async function figures<R>(script: string, ...args: string[]): Promise<R> {
  const path = fileURLToPath(new URL(`../../bench/${script}`, import.meta.url));
  const { stdout } = await run(process.execPath, [
    '--expose-gc',
    path,
    '--live',
    String(LIVE),
    ...args,
  ]);
  return JSON.parse(stdout) as R;
}

describe('flags', () => {
  const flags = { seconds: 60, items: ['fresh', 'same'] } as const;

  it('have defaults, and take the first value of a list', () => {
    expect(readFlags([], flags)).toEqual({ seconds: 60, items: 'fresh' });
    expect(readFlags(['--seconds', '5', '--items', 'same'], flags)).toEqual({
      seconds: 5,
      items: 'same',
    });
  });

  it.each([
    [['--seconds', '0'], /--seconds expected a whole number above 0, got "0"/],
    [['--seconds', '1.5'], /whole number/],
    [['--items', 'other'], /--items expected one of fresh, same; got "other"/],
    [['--second', '5'], /second/],
    [['5'], /5/],
  ])('reject %j', (args, message) => {
    expect(() => readFlags(args, flags)).toThrow(message);
  });
});

describe('engines', () => {
  it('figures of both peers for each number of keys', async () => {
    const path = fileURLToPath(new URL('../../bench/queue/engines.ts', import.meta.url));
    const args = ['--engine', 'node-26', '--rounds', '1', '--keys', '100', '--json', 'yes'];
    const { stdout } = await run(process.execPath, [path, ...args]);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Figure);
    expect(lines).toHaveLength(16);
    for (const { peer, n, ns } of lines) {
      expect(['capstan', 'naive']).toContain(peer);
      expect(n).toBe(100);
      expect(ns).toBeGreaterThan(0);
    }
  });
});

describe('pauses', () => {
  it.each(['capstan', 'naive', 'ring', 'none'])(
    'of %s: the load is kept up, and every figure is present',
    async (peer) => {
      const args = ['--peer', peer, '--items', 'request', '--seconds', '1', '--rate', '20000'];
      const pauses = await figures<Pauses>('queue/pauses-load.ts', ...args);
      expect(pauses.cycles).toBeGreaterThan(10_000);
      const { p50, p99, p999, max, gcMs, gcMax } = pauses;
      expect([p50, p99, p999, max]).toEqual([p50, p99, p999, max].toSorted((a, b) => a - b));
      expect(gcMs).toBeGreaterThanOrEqual(gcMax);
      expect(pauses.cpuMs).toBeGreaterThan(0);
    },
  );
});

describe('memory', () => {
  // A state of 8 bytes, at most 26 bytes of buckets and ring, an eighth in reserve; and an array of
  // items that doubles.
  it('per key is bounded, however many keys have passed through', async () => {
    const { ready, passed, processing } = await figures<Memory>(
      'queue/memory-load.ts',
      '--peer',
      'capstan',
      '--items',
      'same',
    );
    for (const { heap, wasm } of [ready, passed, processing]) {
      expect(wasm).toBeGreaterThan(16);
      expect(wasm).toBeLessThan(64);
      expect(heap).toBeLessThan(24);
    }
    expect(passed.wasm).toBe(ready.wasm);
  });
});
