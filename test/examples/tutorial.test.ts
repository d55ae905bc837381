/**
 * The tutorial: its programs print what its pages say, and its code blocks are text of its files.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { eventResource, installCRDs } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { expect, onTestFinished, test } from 'vitest';
import { addScheduledJobController } from '../../examples/tutorial/09-deploy/controller.ts';
import { Job } from '../../examples/tutorial/09-deploy/job.ts';
import { ScheduledJob } from '../../examples/tutorial/09-deploy/scheduled-job.ts';
import { root } from '../helpers/repository.ts';

interface Block {
  readonly language: string;
  readonly text: string;
}

const PAGES = globSync('docs/tutorial/*.md', { cwd: root }).sort();
const CHAPTERS = PAGES.map((page) => basename(page, '.md'));
const pageOf = (chapter: string): string =>
  readFileSync(`${root}/docs/tutorial/${chapter}.md`, 'utf8');

function blocksOf(chapter: string): Block[] {
  const found = pageOf(chapter).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...found].map(([, language = '', text = '']) => ({ language, text }));
}

/** The files of a chapter. */
const filesOf = (chapter: string): string[] =>
  globSync(`examples/tutorial/${chapter}/**/*.{ts,yaml}`, { cwd: root }).map((file) =>
    readFileSync(`${root}/${file}`, 'utf8'),
  );

test('there are nine chapters, each with a page and programs', () => {
  expect(CHAPTERS.length).toBe(9);
  const folders = globSync('examples/tutorial/*', { cwd: root }).map((path) => basename(path));
  expect(folders.sort()).toEqual(CHAPTERS);
});

/** A page may show code without the indentation that all of its lines have. */
const INDENTS = [0, 2, 4, 6];
const indented = (text: string, by: number): string => text.replace(/^(?=.)/gm, ' '.repeat(by));

test.each(CHAPTERS)('the code of page %s is text of the files of its chapter', (chapter) => {
  const files =
    chapter === '01-empty-controller' ? [...filesOf(chapter), sample()] : filesOf(chapter);
  const code = blocksOf(chapter).filter(({ language }) => ['ts', 'yaml'].includes(language));
  expect(code.length).toBeGreaterThan(0);
  const isIn = (text: string): boolean => files.some((file) => file.includes(text));
  const missing = code.filter(({ text }) => !INDENTS.some((by) => isIn(indented(text, by))));
  expect(missing).toEqual([]);
});

/** The object that chapter 1 shows. */
const sample = (): string =>
  readFileSync(`${root}/examples/tutorial/09-deploy/deploy/sample.yaml`, 'utf8');

/** The programs of the pages with their output: a block `sh`, and after it a block `text`. */
const PROGRAMS = CHAPTERS.flatMap((chapter) => {
  const blocks = blocksOf(chapter);
  return blocks.flatMap(({ language, text }, i) =>
    language === 'sh' && blocks[i + 1]?.language === 'text'
      ? [{ chapter, command: text.trim(), output: blocks[i + 1]?.text ?? '' }]
      : [],
  );
});

test('seven pages show the output of their program', () => {
  expect(PROGRAMS.map(({ chapter }) => chapter.slice(0, 2))).toEqual([
    ...['01', '02', '03', '04', '05', '06', '08'],
  ]);
});

// The program of chapter 8 runs until it is stopped.
test.each(PROGRAMS.filter(({ chapter }) => chapter !== '08-operations'))(
  '$command prints what its page says',
  async ({ command, output }) => {
    const [, file = ''] = command.split(' ');
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: root });
    expect({ stdout, stderr }).toEqual({ stdout: output, stderr: '' });
  },
);

test('the program of chapter 8 serves its metric and the live page, and stops', async () => {
  const program = spawn(process.execPath, ['examples/tutorial/08-operations/main.ts'], {
    cwd: root,
    env: { ...process.env, METRICS_ADDRESS: '127.0.0.1:0' },
  });
  onTestFinished(() => void program.kill('SIGKILL'));
  let output = '';
  program.stdout.on('data', (data: Buffer) => {
    output += String(data);
  });
  const exited = once(program, 'exit');
  while (!output.includes('/metrics')) await once(program.stdout, 'data');
  const metrics = String(/the metrics: +(\S+)/.exec(output)?.[1]);
  const found = async (): Promise<string> => (await fetch(metrics)).text();
  let text = await found();
  while (!text.includes('scheduledjob_outcomes_total{outcome="Started"}')) text = await found();
  const page = await fetch(metrics.replace('/metrics', '/debug/capstan'));
  expect(await page.text()).toContain('<title>capstan</title>');
  program.kill('SIGINT');
  expect(await exited).toEqual([0, null]);
});

// Without a finalizer the Jobs would go after the ScheduledJob, and here nothing deletes them.
test('a deleted ScheduledJob goes after its Jobs, and Events tell what happened', async () => {
  const clock = new FakeClock(Date.parse('2026-01-05T08:00:00Z'));
  const transport = fakeTransport({ clock });
  const manager = newManager({ transport, clock });
  const { client } = manager;
  await installCRDs(client, [ScheduledJob.crd]);
  addScheduledJobController(manager);
  const stop = new AbortController();
  const ended = manager.start({ signal: stop.signal });
  const metadata = { namespace: 'default', name: 'report' };
  const spec = { schedule: '*/5 * * * *', image: 'busybox' };
  await client.create(ScheduledJob.resource, await ScheduledJob.parse({ metadata, spec }));
  await clock.run(11 * 60_000);
  expect((await client.list(Job)).items.length).toBe(2);
  await client.delete(ScheduledJob.resource, metadata);
  await clock.settle();
  expect((await client.list(Job)).items).toEqual([]);
  expect((await client.list(ScheduledJob.resource)).items).toEqual([]);
  const reasons = (await client.list(eventResource)).items.map(({ reason }) => reason);
  expect(reasons.sort()).toEqual(['CleanedUp', 'Started']);
  stop.abort();
  await ended;
});

test('the manifest of the definition is what chapter 2 prints', async () => {
  const program = 'examples/tutorial/02-type/print-definition.ts';
  const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd: root });
  const manifest = `${root}/examples/tutorial/09-deploy/deploy/crd.yaml`;
  expect(readFileSync(manifest, 'utf8')).toBe(stdout);
});
