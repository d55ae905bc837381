/** Replays the recorded traces of client-go on the sources, and shows that the replay can fail. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { replayFolder, vectorFiles } from './files.ts';
import { formatReport, type ItemForm, type Report, replayFile } from './runner.ts';
import { firstDifference, sameValue } from './same-value.ts';
import { traceSubjects } from './subjects/index.ts';
import { sameDelay } from './subjects/limiters.ts';

const vectors = fileURLToPath(new URL('./vectors', import.meta.url));

const text = (path: string) => readFile(join(vectors, path), 'utf8');

describe('the recorded traces', () => {
  let report: Report;
  beforeAll(async () => {
    report = await replayFolder(vectors, traceSubjects);
  }, 180_000); // seconds, or more than half a minute on busy cores

  test.each([
    ['keys', 151],
    ['workqueue', 2_000],
    ['workqueue-blocking', 84],
    ['delayingqueue', 2_400],
    ['ratelimiters', 5_000],
    ['ratelimitingqueue', 2_400],
    ['priorityqueue', 2_400],
    ['store', 2_400],
    ['deltafifo', 2_400],
    ['realfifo', 2_400],
    ['leaderelection', 18],
    ['handlers', 1_200],
    ['predicates', 1_200],
    ['controller', 224],
    ['informer', 101],
    ['informer-random', 96],
  ])('%s agrees with client-go on every step', (name, atLeast) => {
    const subject = report.subjects.find((one) => one.subject === name);
    expect(subject?.mismatches, formatReport(report)).toEqual([]);
    expect(subject?.steps).toBeGreaterThanOrEqual(atLeast);
  });

  test('no step of a covered subject is left out', () => {
    expect(report.subjects.filter((one) => one.covered && one.skipped > 0)).toEqual([]);
  });

  test('every recorded subject is covered', () => {
    expect(report.subjects.filter((one) => !one.covered)).toEqual([]);
    expect(report.subjects.map((one) => one.subject)).toEqual([...traceSubjects.keys()]);
  });

  test.each<ItemForm>(['request', 'object'])(
    'queues and limiters agree with keys as a %s',
    async (form) => {
      const names = [
        'workqueue',
        'workqueue-blocking',
        'delayingqueue',
        'ratelimiters',
        'ratelimitingqueue',
        'priorityqueue',
      ];
      const queues = new Map([...traceSubjects].filter(([name]) => names.includes(name)));
      const other = await replayFolder(vectors, queues, { form });
      expect(other.subjects.flatMap((one) => one.mismatches)).toEqual([]);
      expect(other.steps).toBeGreaterThan(15_000);
    },
  );
});

describe('the runner can fail', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'capstan-vectors-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Changes one line of a recorded file and replays it. */
  async function corrupted(
    path: string,
    find: RegExp,
    replace: (line: string) => string,
  ): Promise<Report> {
    const lines = (await text(path)).split('\n');
    const at = lines.findIndex((line, i) => i > 0 && find.test(line));
    expect(at).toBeGreaterThan(0);
    lines[at] = replace(lines[at] ?? '');
    return replayFile(lines.join('\n'), path, traceSubjects);
  }

  test.each([
    ['keys', 'seed-1/keys.jsonl', /"split".*"ns":"default"/, /"ns":"default"/, '"ns":"other"'],
    [
      'workqueue',
      'seed-2/workqueue.jsonl',
      /"get".*"shutdown":false/,
      /"key":"[^"]*"/,
      '"key":"another"',
    ],
    ['workqueue', 'seed-2/workqueue.jsonl', /"len":2/, /"len":2/, '"len":3'],
    [
      'workqueue-blocking',
      'seed-1/workqueue-blocking.jsonl',
      /"blocked":\["g1"\]/,
      /\["g1"\]/,
      '[]',
    ],
    ['delayingqueue', 'seed-1/delayingqueue.jsonl', /"step"/, /"now":\d+/, '"now":-1'],
    ['delayingqueue', 'seed-1/delayingqueue.jsonl', /"step".*"len":5/, /"len":5/, '"len":4'],
    [
      'ratelimiters',
      'seed-3/ratelimiters.jsonl',
      /"when".*"ns":"5000000"/,
      /"ns":"5000000"/,
      '"ns":"5000001"',
    ],
    [
      'ratelimiters',
      'seed-3/ratelimiters.jsonl',
      /"whenMany"/,
      /"wantNs":\["\d+"/,
      '"wantNs":["7"',
    ],
    [
      'ratelimitingqueue',
      'seed-1/ratelimitingqueue.jsonl',
      /"addRateLimited"/,
      /"want":\d+/,
      '"want":99',
    ],
    [
      'priorityqueue',
      'seed-1/priorityqueue.jsonl',
      /"get".*"priority":10/,
      /"priority":10/,
      '"priority":9',
    ],
    [
      'priorityqueue',
      'seed-1/priorityqueue.jsonl',
      /"delivered"/,
      /"delivered":\{"key":"[^"]*"/,
      '"delivered":{"key":"another"',
    ],
    ['store', 'seed-1/store.jsonl', /"listKeys","want":\[\]/, /\[\]/, '["ghost"]'],
    ['store', 'seed-1/store.jsonl', /"want":\{"error":true\}/, /\{"error":true\}/, '[]'],
    ['deltafifo', 'seed-1/deltafifo.jsonl', /"Updated".*"Added"/, /"Updated"/, '"Added"'],
    [
      'deltafifo',
      'seed-1/deltafifo.jsonl',
      /"replace".*"hasSynced":false/,
      /"hasSynced":false/,
      '"hasSynced":true',
    ],
    ['realfifo', 'seed-1/realfifo.jsonl', /"popBatch".*"process":"batch"/, /"batch"/, '"single"'],
    ['realfifo', 'seed-1/realfifo.jsonl', /"tombstone":true/, /,"tombstone":true/, ''],
    [
      'leaderelection',
      'seed-1/leaderelection.jsonl',
      /release on cancel/,
      /"isLeader":false/,
      '"isLeader":true',
    ],
    ['handlers', 'seed-1/handlers.jsonl', /"priority":-100/, /"priority":-100/, '"priority":0'],
    ['predicates', 'seed-1/predicates.jsonl', /"want":true/, /"want":true/, '"want":false'],
    [
      'controller',
      'seed-1/controller.jsonl',
      /errors back off/,
      /"startMs":35,"endMs":35/,
      '"startMs":35,"endMs":36',
    ],
    [
      'controller',
      'seed-3/controller.jsonl',
      /"workers":[2-9]/,
      /"want":\{"reconciles":\[\{"key":"/,
      '$&x',
    ],
    [
      'controller',
      'seed-2/controller.jsonl',
      /"numRequeues":\{"/,
      /("numRequeues":\{"[^"]*":)\d+/,
      '$199',
    ],
    ['controller', 'seed-4/controller.jsonl', /"stoppedAtMs":/, /("stoppedAtMs":)(\d+)/, '$11$2'],
    [
      'informer',
      'seed-1/informer.jsonl',
      /"hasSynced":true/,
      /"hasSynced":true/,
      '"hasSynced":false',
    ],
    ['informer', 'seed-1/informer.jsonl', /"requests":/, /"allowWatchBookmarks":"true",/, ''],
    [
      'informer',
      'seed-1/informer.jsonl',
      /"unordered":/,
      /"unordered":\[\{/,
      '"unordered":[{"type":"x"},{',
    ],
    [
      'informer-random',
      'seed-5/informer-random.jsonl',
      /"type":"update"/,
      /("type":"update".*?"rv":")/,
      '$19',
    ],
    [
      'informer-random',
      'seed-6/informer-random.jsonl',
      /"store":\[\{/,
      /("store":\[\{"key":")/,
      '$1x',
    ],
    [
      'informer-random',
      'seed-7/informer-random.jsonl',
      /"atMs":\d{4}/,
      /("atMs":)(\d{4})/,
      '$15$2',
    ],
  ])('a changed answer in %s is one mismatch (%s)', async (name, path, find, part, instead) => {
    const report = await corrupted(path, find, (line) => line.replace(part, instead));
    expect(report.ok).toBe(false);
    const mismatches = report.subjects.flatMap((one) => one.mismatches);
    expect(mismatches).toHaveLength(1);
    expect(formatReport(report)).toContain(`${name}: ${path}:${mismatches[0]?.line}`);
  });

  test('an unknown op is a mismatch', async () => {
    const report = await corrupted(
      'seed-1/workqueue.jsonl',
      /"op":"len"/,
      () => '{"op":"explode","len":0}',
    );
    expect(formatReport(report)).toMatch(/unknown op "explode"[\s\S]*FAILED/);
  });

  test('a missing argument, a broken line and an unknown limiter are mismatches', async () => {
    const header = (subject: string) =>
      JSON.stringify({ subject, seed: 1, source: 'test', config: {} });
    const replay = (...lines: string[]) => replayFile(lines.join('\n'), 'test', traceSubjects);
    const noKey = await replay(header('workqueue'), '{"op":"new"}', '{"op":"add","len":1}');
    expect(formatReport(noKey)).toContain('"key" expected a string');
    const broken = await replay(header('workqueue'), '{"op":"new"}', '{"op":"add","key":');
    expect(broken.mismatches).toBe(1);
    const limiter = await replay(
      header('ratelimiters'),
      '{"op":"new","limiter":{"type":"none"}}',
      '{"op":"when"}',
    );
    expect(limiter).toMatchObject({ ok: false, mismatches: 1, steps: 0 });
  });

  test('a misuse trace is compared up to the first misuse; the rest is skipped', async () => {
    const trace = (misuse: boolean, len: number) =>
      [
        '{"subject":"workqueue","seed":1,"source":"test","config":{}}',
        JSON.stringify({ op: 'new', trace: 0, misuse }),
        JSON.stringify({ op: 'add', key: 'a', len }),
        '{"op":"done","key":"b","len":1}',
        '{"op":"get","want":{"key":"a","shutdown":false},"len":0}',
        '{"op":"add","key":"a","len":0}',
        '{"op":"done","key":"a","len":1}',
        '{"op":"done","key":"a","len":2}',
        '{"op":"len","want":2,"len":2}',
      ].join('\n');
    const good = await replayFile(trace(true, 1), 'test', traceSubjects);
    expect(good).toMatchObject({ ok: true, steps: 6 });
    expect(formatReport(good)).toContain('2 steps skipped: after a misuse of done');
    expect(await replayFile(trace(true, 5), 'test', traceSubjects)).toMatchObject({
      ok: false,
      mismatches: 1,
    });
    expect(await replayFile(trace(false, 1), 'test', traceSubjects)).toMatchObject({
      ok: false,
      steps: 8,
    });
  });

  test('a get that blocks where client-go answered is a mismatch and does not hang', async () => {
    const report = await corrupted(
      'seed-1/workqueue.jsonl',
      /"op":"add"/,
      () => '{"op":"get","want":{}}',
    );
    expect(formatReport(report)).toContain('"blocked"');
  });

  test('an empty folder, and one with only uncovered subjects, fail', async () => {
    expect(vectorFiles(folder)).toEqual([]);
    const empty = await replayFolder(folder, traceSubjects);
    expect(empty).toMatchObject({ ok: false, steps: 0 });
    expect(formatReport(empty)).toContain('FAILED: no step was replayed');
    const trace = await text('seed-1/informer.jsonl');
    await writeFile(
      join(folder, 'shards.jsonl'),
      trace.replace('"subject":"informer"', '"subject":"shards"'),
    );
    const uncovered = await replayFolder(folder, traceSubjects);
    expect(uncovered).toMatchObject({ ok: false, steps: 0 });
    expect(formatReport(uncovered)).toMatch(/shards +not yet covered/);
  });

  test("delays agree exactly below 2^52 ns, and within a bucket's microsecond", () => {
    expect(sameDelay('5000000', 5, 0)).toBe(true);
    expect(sameDelay('5000001', 5, 0)).toBe(false);
    expect(sameDelay('4503599627370495', 4503599627.370495, 0)).toBe(true);
    expect(sameDelay('4503599627370494', 4503599627.370495, 0)).toBe(false);
    expect(sameDelay('4611686018427387904', 2 ** 62 / 1e6, 0)).toBe(true);
    expect(sameDelay('4611686018427387904', (2 ** 62 + 2 ** 20) / 1e6, 0)).toBe(false);
    expect(sameDelay('13999999999', 14_000, 1_000)).toBe(true);
    expect(sameDelay('13999998999', 14_000, 1_000)).toBe(false);
    expect(sameDelay('5', Number.NaN, 1_000)).toBe(false);
    expect(sameDelay('5', undefined, 1_000)).toBe(false);
  });
});

test('only JSON values without any difference are equal', () => {
  const value = () => ({ a: [1, { b: null }], '': 'x' });
  expect(sameValue(value(), { '': 'x', a: [1, { b: null }] })).toBe(true);
  for (const other of [
    { ...value(), c: undefined },
    { a: [1, { b: undefined }], '': 'x' },
    { a: [1], '': 'x' },
    { a: { 0: 1, 1: { b: null } }, '': 'x' },
    { a: [1, { b: null }] },
    Object.assign(Object.create(null), value()),
    undefined,
    'x',
  ]) {
    expect(sameValue(value(), other), JSON.stringify(other)).toBe(false);
    expect(sameValue(other, value()), JSON.stringify(other)).toBe(false);
  }
  expect([sameValue(0, -0), sameValue(Number.NaN, Number.NaN), sameValue(null, {})]).toEqual([
    false,
    true,
    false,
  ]);
});

test('the message about different values has a short path to the difference', () => {
  const scenario = (rv: string): unknown => ({
    list: [{ name: 'x'.repeat(200) }, { name: 'y', rv }],
    synced: true,
  });
  expect(firstDifference(scenario('1'), scenario('2'), 'want')).toEqual({
    path: 'want.list[1]',
    a: { name: 'y', rv: '1' },
    b: { name: 'y', rv: '2' },
  });
  expect(firstDifference(1, 2, 'len')).toEqual({ path: 'len', a: 1, b: 2 });
});

describe('the command line', () => {
  /** The program itself, on the built package (`npm test` builds it first). */
  function run(...args: string[]): Promise<{ code: number; output: string }> {
    const program = fileURLToPath(new URL('./run.ts', import.meta.url));
    return new Promise((resolve) => {
      execFile(process.execPath, [program, ...args], (error, stdout, stderr) => {
        resolve({
          code: typeof error?.code === 'number' ? error.code : error ? -1 : 0,
          output: stdout + stderr,
        });
      });
    });
  }

  test('exits with 0 when all agree, and with 1 on a mismatch or a bad argument', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'capstan-run-'));
    try {
      const none = await run(folder);
      expect(none.output).toContain('FAILED: no step was replayed');
      expect(none.code).toBe(1);

      const trace = await text('seed-1/keys.jsonl');
      await writeFile(join(folder, 'keys.jsonl'), trace);
      const good = await run(folder);
      expect(good.output).toMatch(
        /keys +151 steps, 0 mismatches[\s\S]*ok: 151 steps, 0 mismatches/,
      );
      expect(good.code).toBe(0);

      await writeFile(
        join(folder, 'keys.jsonl'),
        trace.replace('"name":"web-10"', '"name":"web-11"'),
      );
      const bad = await run(folder);
      expect(bad.output).toMatch(/keys\.jsonl:4[\s\S]*FAILED: 151 steps, 1 mismatches/);
      expect(bad.code).toBe(1);

      expect((await run(join(folder, 'nowhere'))).code).toBe(1);
      expect((await run(folder, '--from=string')).code).toBe(1);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
