/**
 * The dashboard and the alerts in examples/monitoring: each metric and label in them is in the
 * `/metrics` of a manager, and Prometheus's own checker takes the rules where it is installed.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { Api } from '../../examples/demo/api.ts';
import { dashboard } from '../../examples/monitoring/make-dashboard.ts';
import { addWebsiteController } from '../../examples/website/controller.ts';
import { websiteCRD } from '../../examples/website/resources.ts';
import { parseText } from '../helpers/prometheus-text.ts';

const folder = new URL('../../examples/monitoring/', import.meta.url);
const alerts = parse(readFileSync(new URL('alerts.yaml', folder), 'utf8')) as {
  spec: { groups: { rules: { alert: string; expr: string; annotations: object }[] }[] };
};
const rules = alerts.spec.groups.flatMap((group) => group.rules);
const panels = dashboard.panels as { title: string; targets?: { expr: string }[] }[];

/** Labels that Prometheus adds to what it scrapes. */
const OF_A_SCRAPE = ['job', 'instance'];
/** Words of PromQL, and labels of what a query makes. */
const PROMQL = new Set([
  ...['sum', 'max', 'rate', 'increase', 'by', 'histogram_quantile', 'label_values'],
  ...OF_A_SCRAPE,
]);

/** The names in a PromQL expression without its strings: metrics, labels, functions. */
function namesIn(expression: string): string[] {
  const bare = expression.replaceAll(/"[^"]*"|\[[^\]]*\]|\$\w+/g, ' ');
  return bare.match(/[a-z_]+[a-z0-9_]*/g) ?? [];
}

const served = new Map<string, Set<string>>();

beforeAll(async () => {
  await using server = await ApiServer.start();
  const transport = server.transport();
  await new Api(transport).create(
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    websiteCRD,
  );
  const stop = new AbortController();
  const manager = newManager({
    transport,
    leaderElection: { id: 'web', namespace: 'default' },
    metrics: { bindAddress: '127.0.0.1:0' },
  });
  addWebsiteController(manager);
  const running = manager.start({ signal: stop.signal });
  try {
    await manager.elected();
    // What an informer says about its watch is there from the first byte on.
    await vi.waitFor(async () => {
      const response = await fetch(`${manager.url('metrics')}/metrics`);
      for (const { samples } of parseText(await response.text()).values())
        for (const { name, labels } of samples) served.set(name, new Set(Object.keys(labels)));
      expect(served.has('capstan_informer_last_sign_of_life_seconds')).toBe(true);
    });
  } finally {
    stop.abort();
    await running;
    await transport.close?.();
  }
});

/** What is in the expression and neither a metric nor one of the labels of its metrics. */
function unknownNames(expression: string): string[] {
  const names = namesIn(expression).filter((name) => !PROMQL.has(name));
  const labels = names.flatMap((name) => [...(served.get(name) ?? [])]);
  return names.filter((name) => !served.has(name) && !labels.includes(name));
}

test('a name that no metric and no label has is found', () => {
  expect(unknownNames('sum by (controler) (workqueue_depht{name="a"})')).toEqual([
    'controler',
    'workqueue_depht',
    'name',
  ]);
});

describe('the dashboard', () => {
  test('dashboard.json is what make-dashboard.ts writes', () => {
    const text = readFileSync(new URL('dashboard.json', folder), 'utf8');
    expect(JSON.parse(text)).toEqual(dashboard);
  });

  test('each panel asks for metrics and labels that a manager serves', () => {
    const wrong = panels.flatMap(({ title, targets = [] }) =>
      targets.flatMap(({ expr }) => unknownNames(expr).map((name) => `${title}: ${name}`)),
    );
    expect(wrong).toEqual([]);
  });

  test('the variables take their values from metrics that a manager serves', () => {
    const queries = (dashboard.templating.list as { definition?: string }[]).flatMap(
      ({ definition = [] }) => definition,
    );
    expect(queries).toHaveLength(3);
    expect(queries.flatMap(unknownNames)).toEqual([]);
  });

  test('a panel lies on no other', () => {
    const covered = new Set<string>();
    for (const { gridPos } of dashboard.panels as {
      gridPos: { x: number; y: number; w: number; h: number };
    }[])
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(covered).not.toContain(`${x},${y}`);
          covered.add(`${x},${y}`);
        }
  });
});

describe('the alerts', () => {
  test('each asks for metrics and labels that a manager serves', () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(
      rules.flatMap(({ alert, expr }) => unknownNames(expr).map((name) => `${alert}: ${name}`)),
    ).toEqual([]);
  });

  test('annotations name labels that the expression keeps', () => {
    for (const { alert, expr, annotations } of rules) {
      const kept = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(/, */) ?? [];
      const used = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map((m) => m[1]);
      expect({ alert, missing: used.filter((label) => !kept.includes(label ?? '')) }).toEqual({
        alert,
        missing: [],
      });
    }
  });

  const promtool = process.env.PROMTOOL ?? 'promtool';
  const isThere = spawnSync(promtool, ['--version']).status === 0;
  test.runIf(isThere || process.env.PROMTOOL !== undefined)(
    'promtool takes the rules, and each alert fires when it should',
    () => {
      const work = mkdtempSync(join(tmpdir(), 'capstan-rules-'));
      try {
        writeFileSync(join(work, 'rules.yaml'), stringify(alerts.spec));
        copyFileSync(new URL('alerts.test.yaml', folder), join(work, 'alerts.test.yaml'));
        for (const args of [
          ['check', 'rules', 'rules.yaml'],
          ['test', 'rules', 'alerts.test.yaml'],
        ]) {
          const { status, stdout, stderr } = spawnSync(promtool, args, { cwd: work });
          expect(status, `promtool ${args.join(' ')}: ${stdout}${stderr}`).toBe(0);
        }
      } finally {
        rmSync(work, { recursive: true, force: true });
      }
    },
  );
});
