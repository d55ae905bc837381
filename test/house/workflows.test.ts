/**
 * The workflows: their actions are pinned, they have no more permissions than they need, and the
 * scripts that they run exist. `.ci/run` has actionlint judge the rest (tools/actionlint).
 */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from '../helpers/repository.ts';

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}

interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, { permissions?: Record<string, string>; steps: Step[] }>;
}

const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as {
  scripts: Record<string, string>;
};
const workflows = globSync('.github/workflows/*.yml', { cwd: root })
  .sort()
  .map((path) => [path, parse(readFileSync(`${root}/${path}`, 'utf8')) as Workflow] as const);
const stepsOf = ({ jobs }: Workflow): Step[] => Object.values(jobs).flatMap(({ steps }) => steps);

it('there is one for each change and one for releases', () => {
  expect(workflows.map(([path]) => path)).toEqual([
    '.github/workflows/ci.yml',
    '.github/workflows/release.yml',
  ]);
});

describe.each(workflows)('%s', (_path, workflow) => {
  it('uses only actions of the organisation "actions", each at a tag', () => {
    const used = stepsOf(workflow).flatMap(({ uses }) => uses ?? []);
    expect(used.length).toBeGreaterThan(1);
    expect(used.filter((action) => !/^actions\/[\w-]+@v\d+$/.test(action))).toEqual([]);
  });

  it('has the permission to read alone, and leaves no credentials in the checkout', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    const checkouts = stepsOf(workflow).filter(({ uses }) => uses?.startsWith('actions/checkout'));
    for (const { with: options } of checkouts)
      expect(options).toMatchObject({ 'persist-credentials': false });
  });

  it('runs scripts of package.json', () => {
    const named = stepsOf(workflow).flatMap(({ run = '' }) =>
      [...run.matchAll(/npm (?:run )?(?!run |ci)([\w:-]+)/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it('writes no expression, which may hold the text of others, into a command', () => {
    const runs = stepsOf(workflow).flatMap(({ run }) => run ?? []);
    expect(runs.filter((run) => run.includes('${{'))).toEqual([]);
  });
});

it('only the job publish may sign, and only the job release may write', () => {
  const [, release] = workflows.find(([path]) => path.endsWith('release.yml')) ?? [];
  const given = Object.entries(release?.jobs ?? {}).map(([name, job]) => [name, job.permissions]);
  expect(Object.fromEntries(given)).toEqual({
    test: undefined,
    publish: { contents: 'read', 'id-token': 'write' },
    release: { contents: 'write' },
  });
});
