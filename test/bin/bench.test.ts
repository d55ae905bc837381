/**
 * `capstan bench` with tiny workloads and a fake clock: the options, the workload, the check of
 * what a queue hands out, and what is said about the figures.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from 'capstan/workqueue';
import { afterAll, describe, expect, it } from 'vitest';
import { runBench } from '../../bin/bench.ts';
import { type PeerFigures, roundsOf, verdictOn } from '../../bin/bench-figures.ts';
import { benchOptionsOf } from '../../bin/bench-options.ts';
import { type BenchPeer, type BenchQueue, loadPeer, ownPeers } from '../../bin/bench-queues.ts';
import { addsOf, generateKeys, keysOfText } from '../../bin/bench-workload.ts';
import { main } from '../../bin/cli.ts';
import { checkClosed } from '../../bin/closed-loop.ts';
import { NaivePort } from '../../bin/naive-port.ts';
import { runOpen } from '../../bin/open-loop.ts';

const place = mkdtempSync(join(tmpdir(), 'capstan-bench-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const options = (given: Record<string, string> = {}) => benchOptionsOf({ seed: '7', ...given });
const keys = generateKeys(50, 'team-{3}/site-{i}', 7);
const peerOf = (make: (queue: BenchQueue) => BenchQueue): BenchPeer => ({
  name: 'broken',
  make: ({ clock }) => make(new NaivePort(clock)),
});
const around = (queue: BenchQueue, own: Partial<BenchQueue>): BenchQueue => ({
  add: (key) => queue.add(key),
  tryGet: () => queue.tryGet(),
  done: (key) => queue.done(key),
  addAfter: (key, ms) => queue.addAfter?.(key, ms),
  ...own,
});

const losing = peerOf((queue) => {
  let adds = 0;
  return around(queue, { add: (key) => void (++adds % 10 !== 0 && queue.add(key)) });
});
const losingWaits = peerOf((queue) => {
  let waits = 0;
  return around(queue, {
    addAfter: (key, ms) => void (++waits % 10 !== 0 && queue.addAfter?.(key, ms)),
  });
});
const twice = peerOf((queue) => {
  let again: string | undefined;
  return around(queue, {
    tryGet() {
      const key = again ?? queue.tryGet();
      again = again === undefined ? key : undefined;
      return key;
    },
  });
});
const tooEarly = peerOf((queue) => around(queue, { addAfter: (key) => queue.add(key) }));

const hard = options({ duplicates: '0.3', delayed: '0.3', delay: '40', adds: '500', workers: '4' });

describe('the check of what a queue hands out', () => {
  it.each(ownPeers(true))('accepts $name, with repeated and delayed adds', (peer) => {
    const adds = addsOf(keys, hard.adds, hard);
    expect(checkClosed(peer, adds, hard.workers, hard.delay)).toBeGreaterThan(50);
  });

  it('gives the same number of keys for both queues', () => {
    const adds = addsOf(keys, hard.adds, hard);
    const [ours, theirs] = ownPeers(true).map((peer) => checkClosed(peer, adds, 4, hard.delay));
    expect(ours).toBe(theirs);
  });

  it.each([
    ['loses adds', losing, /queue of broken lost \d+ of the added keys, such as "team-/],
    // A lost wait lets a later one of its key fire, which the check calls not asked for.
    ['loses delayed adds', losingWaits, /queue of broken (lost|handed out)/],
    ['hands a key out twice', twice, /handed "team-\d\/site-\d+" to two workers at once/],
    ['hands out before the delay', tooEarly, /which was not added, or before its delay/],
  ] as const)('fails for a queue that %s', (_, peer, message) => {
    const adds = addsOf(keys, hard.adds, hard);
    expect(() => checkClosed(peer, adds, hard.workers, hard.delay)).toThrow(message);
  });

  it.each([
    ['loses adds', losing, /lost/],
    ['loses delayed adds', losingWaits, /lost/],
    ['hands a key out twice', twice, /two workers at once/],
  ] as const)('fails at a pace too for a queue that %s', async (_, peer, message) => {
    const clock = new FakeClock();
    const turn = (run: () => void): void => void clock.setTimer(run, 1);
    const adds = addsOf(keys, hard.adds, { ...hard, service: 3 });
    const run = runOpen(peer, adds, { rate: 1000, workers: 4, clock, turn });
    const failed = expect(run).rejects.toThrow(message);
    await clock.run(60_000);
    await failed;
  });
});

describe('the waits at a pace', () => {
  // Two workers that hold a key for 10 ms serve 200 keys a second: of 400 a second, half of the
  // time passes in the queue.
  it('grow when the workers cannot keep up, and count from when an add was due', async () => {
    const waitsAt = async (rate: number) => {
      const clock = new FakeClock();
      const turn = (run: () => void): void => void clock.setTimer(run, 1);
      const adds = addsOf(generateKeys(400, 'k-{i}', 1), 400, { ...options(), service: 10 });
      const [peer] = ownPeers(false);
      const run = runOpen(peer as BenchPeer, adds, { rate, workers: 2, clock, turn });
      await clock.run(10_000);
      return run;
    };
    expect((await waitsAt(100)).at(-1)).toBeLessThanOrEqual(1);
    const late = (await waitsAt(400)).at(-1) ?? 0;
    expect(late).toBeGreaterThan(900);
    expect(late).toBeLessThan(1_300);
  });
});

describe('the workload', () => {
  it('is the same for a seed', () => {
    const keysOf = (seed: string) => {
      const adds = addsOf(keys, 200, options({ seed, duplicates: '0.5' }));
      return Array.from({ length: 200 }, (_, i) => adds.key(i));
    };
    expect(keysOf('1')).toEqual(keysOf('1'));
    expect(keysOf('1')).not.toEqual(keysOf('2'));
    expect(new Set(keysOf('1')).size).toBeLessThanOrEqual(50);
  });

  it('has the shares that were asked for', () => {
    const n = 10_000;
    const asked = options({
      delayed: '0.25',
      delay: '80',
      service: '5',
      distribution: 'exponential',
    });
    const adds = addsOf(keys, n, asked);
    const delayed = adds.delays.filter((ms) => ms > 0);
    expect(delayed.length / n).toBeCloseTo(0.25, 1);
    expect(Math.max(...delayed)).toBeLessThanOrEqual(80);
    expect(adds.services.reduce((sum, ms) => sum + ms, 0) / n).toBeCloseTo(5, 0);
  });

  it('takes each key of a file once', () => {
    expect(keysOfText('a/b\r\nc\n\na/b\n', 'f')).toEqual(['a/b', 'c']);
    expect(() => keysOfText('\n\n', 'f')).toThrow('--keys f expected a key in each line');
    expect(() => generateKeys(3, 'same', 1)).toThrow('--pattern expected {i}');
  });
});

describe('the options', () => {
  it.each([
    [{ workers: '0' }, '--workers as a whole number from 1'],
    [{ rate: 'fast' }, '--rate as a number from 0.1'],
    [{ duplicates: '2' }, '--duplicates as a number from 0 to 1, got "2"'],
    [{ distribution: 'exponental' }, 'did you mean "exponential"?'],
    [{ keys: 'f', generate: '3' }, '--keys, or --generate and --pattern, got both'],
    [{ delay: '5' }, '--delayed with --delay'],
  ])('%j is an error that says what was expected', (given, message) => {
    expect(() => options(given as Record<string, string>)).toThrow(message);
  });

  it('an unknown one is an error with the nearest name', async () => {
    const lines: string[] = [];
    const write = { out: () => {}, err: (text: string) => void lines.push(text) };
    expect(await main(['bench', '--worker', '3'], write)).toBe(1);
    expect(lines.join('')).toContain('--workers');
  });
});

const figures = (name: string, ns: number[], p99?: number[]): PeerFigures => ({
  name,
  ns: roundsOf(ns),
  adds: roundsOf(ns),
  p50: p99 && roundsOf(p99),
  p99: p99 && roundsOf(p99),
});

describe('what is said', () => {
  const other = figures('naive port', [100, 110, 120], [4, 5, 6]);
  it.each([
    [[40, 50, 55], /capstan wins against naive port, 2\.20 times faster\.$/],
    [[210, 220, 230], /naive port wins, capstan is 2\.00 times slower\.$/],
    [[90, 95, 101], /no winner .* 1\.16 times apart, and the rounds of both overlap\.$/],
    [[50], /one round is too few/],
  ])('of %j ns beside 100 to 120', (ns, sentence) => {
    expect(verdictOn(figures('capstan', ns), other)).toMatch(sentence);
  });

  it('of the waits is a sentence of its own', () => {
    const said = verdictOn(figures('capstan', [40, 50], [20, 21]), other);
    expect(said).toMatch(
      /faster\. The 99th percentile of the waits: naive port wins, .* longer\.$/,
    );
  });
});

describe('a run', () => {
  it('measures a module too, and writes the table, the chart and the page', async () => {
    const module = join(place, 'mine.mjs');
    const source = `
      export class Mine {
        queue = new Set(); held = new Set(); again = new Set();
        add(k) { if (this.held.has(k)) this.again.add(k); else this.queue.add(k); }
        tryGet() {
          const [k] = this.queue;
          if (k !== undefined) { this.queue.delete(k); this.held.add(k); }
          return k;
        }
        done(k) { this.held.delete(k); if (this.again.delete(k)) this.queue.add(k); }
      }
      export default Mine;`;
    writeFileSync(module, source);
    const [svg, html] = [join(place, 'chart.svg'), join(place, 'page.html')];
    const clock = new FakeClock();
    const asked = options({
      peer: module,
      svg,
      html,
      generate: '20',
      adds: '200',
      rate: '500',
      duration: '0.2',
      rounds: '2',
    });
    const lines: string[] = [];
    const turn = (run: () => void): void => void clock.setTimer(run, 1);
    const running = runBench(asked, (line) => void lines.push(line), { clock, turn });
    let table: string | undefined;
    void running.then((text) => {
      table = text;
    });
    while (table === undefined) await clock.run(1_000);
    expect(lines[0]).toBe('seed 7: capstan, naive port, mine.mjs');
    for (const name of ['capstan', 'naive port', 'mine.mjs'])
      expect(table).toMatch(new RegExp(`^${name} +[\\d.,]+ \\([\\d.,]+–[\\d.,]+\\)`, 'm'));
    expect(table).toContain('between capstan and mine.mjs');
    expect(readFileSync(svg, 'utf8')).toMatch(/^<svg .*>mine\.mjs<.*<\/svg>\n$/s);
    const page = readFileSync(html, 'utf8');
    expect(page).toContain('prefers-color-scheme: dark');
    expect(page).not.toMatch(/<script|<link|src=|url\(/);
  });

  it('says which method a queue lacks', async () => {
    const module = join(place, 'lacks.mjs');
    writeFileSync(module, 'export default () => ({ add() {}, trygets() {}, done() {} });');
    const peer = await loadPeer(module, 'lacks.mjs', false);
    expect(() => peer.make({ clock: new FakeClock() })).toThrow(
      'tryGet is missing; is it what you call "trygets"?',
    );
    writeFileSync(join(place, 'no.mjs'), 'export const answer = 42;');
    await expect(loadPeer(join(place, 'no.mjs'), 'no.mjs', false)).rejects.toThrow(
      'expected a default export or an export "makeQueue"',
    );
  });
});
