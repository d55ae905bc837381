/**
 * Writes dashboard.json, the Grafana dashboard for the metrics of a manager: `node
 * examples/monitoring/make-dashboard.ts`. Each panel below is a title, a unit of Grafana and its
 * queries.
 */
import { writeFileSync } from 'node:fs';

/** PromQL, and what the legend shows. */
type Query = readonly [expression: string, legend: string];

interface Panel {
  title: string;
  /** What the reader learns, and when to worry. */
  description: string;
  /** A unit of Grafana: 'ops' is a rate, 's' are seconds. */
  unit: 'ops' | 's' | 'short' | 'bytes' | 'percentunit' | 'reqps';
  queries: readonly Query[];
}

const SCOPE = 'job=~"$job", instance=~"$instance"';
const CONTROLLER = `${SCOPE}, controller=~"$controller"`;

/** The quantile of a histogram over the labels `by`. */
function quantile(q: number, histogram: string, labels: string, by: string): string {
  const buckets = `sum by (le, ${by}) (rate(${histogram}_bucket{${labels}}[$__rate_interval]))`;
  return `histogram_quantile(${q}, ${buckets})`;
}

function rate(counter: string, labels: string, by: string): string {
  return `sum by (${by}) (rate(${counter}{${labels}}[$__rate_interval]))`;
}

const ROWS: readonly { title: string; panels: readonly Panel[] }[] = [
  {
    title: 'Controllers',
    panels: [
      {
        title: 'Reconciles by result',
        description: 'A high rate of requeue without a reason is work for nothing.',
        unit: 'ops',
        queries: [
          [
            rate('controller_runtime_reconcile_total', CONTROLLER, 'controller, result'),
            '{{controller}} {{result}}',
          ],
        ],
      },
      {
        title: 'Failures',
        description: 'Errors are retried with back-off. Terminal errors are not retried.',
        unit: 'ops',
        queries: [
          [
            rate('controller_runtime_reconcile_errors_total', CONTROLLER, 'controller'),
            '{{controller}} errors',
          ],
          [
            rate('controller_runtime_terminal_reconcile_errors_total', CONTROLLER, 'controller'),
            '{{controller}} terminal',
          ],
          [
            rate('controller_runtime_reconcile_timeouts_total', CONTROLLER, 'controller'),
            '{{controller}} timeouts',
          ],
        ],
      },
      {
        title: 'Time of a reconcile',
        description: 'From the call of the reconcile function to its end.',
        unit: 's',
        queries: [
          [
            quantile(0.5, 'controller_runtime_reconcile_time_seconds', CONTROLLER, 'controller'),
            '{{controller}} p50',
          ],
          [
            quantile(0.99, 'controller_runtime_reconcile_time_seconds', CONTROLLER, 'controller'),
            '{{controller}} p99',
          ],
        ],
      },
      {
        title: 'Busy workers',
        description:
          'At 100 % for long, requests wait for a worker: raise maxConcurrentReconciles.',
        unit: 'percentunit',
        queries: [
          [
            `sum by (controller) (controller_runtime_active_workers{${CONTROLLER}}) / ` +
              `sum by (controller) (controller_runtime_max_concurrent_reconciles{${CONTROLLER}})`,
            '{{controller}}',
          ],
        ],
      },
      {
        title: 'Writes that changed nothing',
        description: 'Such a write leads to the next run of the same object: a hot loop.',
        unit: 'ops',
        queries: [
          [
            rate('capstan_controller_hot_loop_writes_total', CONTROLLER, 'controller'),
            '{{controller}}',
          ],
        ],
      },
      {
        title: 'Leader',
        description: '1 for the process that leads, 0 for the others.',
        unit: 'short',
        queries: [[`leader_election_master_status{${SCOPE}}`, '{{name}} {{instance}}']],
      },
    ],
  },
  {
    title: 'Work queues',
    panels: [
      {
        title: 'Depth',
        description: 'Requests that are ready and wait for a worker.',
        unit: 'short',
        queries: [[`sum by (name) (workqueue_depth{${CONTROLLER}})`, '{{name}}']],
      },
      {
        title: 'Adds and retries',
        description: 'Retries are delayed adds, those of requeueAfter and of back-off among them.',
        unit: 'ops',
        queries: [
          [rate('workqueue_adds_total', CONTROLLER, 'name'), '{{name}} adds'],
          [rate('workqueue_retries_total', CONTROLLER, 'name'), '{{name}} retries'],
        ],
      },
      {
        title: 'Time in the queue',
        description: 'From the add to the hand-out. The delay before an add is not in it.',
        unit: 's',
        queries: [
          [quantile(0.5, 'workqueue_queue_duration_seconds', CONTROLLER, 'name'), '{{name}} p50'],
          [quantile(0.99, 'workqueue_queue_duration_seconds', CONTROLLER, 'name'), '{{name}} p99'],
        ],
      },
      {
        title: 'Longest wait and longest run',
        description: 'A run that only grows hangs: set reconciliationTimeout.',
        unit: 's',
        queries: [
          [`max by (name) (workqueue_longest_wait_seconds{${CONTROLLER}})`, '{{name}} waits'],
          [
            `max by (name) (workqueue_longest_running_processor_seconds{${CONTROLLER}})`,
            '{{name}} runs',
          ],
        ],
      },
    ],
  },
  {
    title: 'Informers',
    panels: [
      {
        title: 'Events',
        description: 'Events that the informer processed, by resource.',
        unit: 'ops',
        queries: [
          [rate('informer_processing_latency_seconds_count', SCOPE, 'resource'), '{{resource}}'],
        ],
      },
      {
        title: 'Time since the last byte',
        description: 'The API server sends a bookmark each minute: more than five is silence.',
        unit: 's',
        queries: [
          [
            `max by (resource) (capstan_informer_last_sign_of_life_seconds{${SCOPE}})`,
            '{{resource}}',
          ],
        ],
      },
      {
        title: 'Backlog',
        description: 'Notifications that wait for a handler, and deltas that wait for the store.',
        unit: 'short',
        queries: [
          [
            `sum by (resource, handler) (capstan_informer_handler_backlog{${SCOPE}})`,
            '{{resource}} {{handler}}',
          ],
          [`sum by (resource) (informer_queued_items{${SCOPE}})`, '{{resource}} queued'],
        ],
      },
      {
        title: 'Failed notifications',
        description: 'A handler threw or rejected.',
        unit: 'ops',
        queries: [
          [
            rate('capstan_informer_handler_failures_total', SCOPE, 'resource, handler'),
            '{{resource}} {{handler}}',
          ],
        ],
      },
    ],
  },
  {
    title: 'API server',
    panels: [
      {
        title: 'Requests by code',
        description: '429 is the limit of the API server, 409 a conflict that is retried.',
        unit: 'reqps',
        queries: [
          [rate('rest_client_requests_total', SCOPE, 'method, code'), '{{method}} {{code}}'],
        ],
      },
      {
        title: 'Time of a request, p99',
        description: 'Without watches.',
        unit: 's',
        queries: [
          [quantile(0.99, 'rest_client_request_duration_seconds', SCOPE, 'verb'), '{{verb}}'],
        ],
      },
    ],
  },
  {
    title: 'Process',
    panels: [
      {
        title: 'CPU',
        description: 'Seconds of CPU a second. A process has one thread for JavaScript.',
        unit: 'percentunit',
        queries: [[`rate(process_cpu_seconds_total{${SCOPE}}[$__rate_interval])`, '{{instance}}']],
      },
      {
        title: 'Memory',
        description: 'Caches are outside of the heap: look at the resident size.',
        unit: 'bytes',
        queries: [
          [`process_resident_memory_bytes{${SCOPE}}`, '{{instance}} resident'],
          [`nodejs_heap_size_used_bytes{${SCOPE}}`, '{{instance}} heap'],
        ],
      },
      {
        title: 'Delay of the event loop, p99',
        description: 'Above 100 ms leases and timeouts are late: look for long synchronous work.',
        unit: 's',
        queries: [[`nodejs_eventloop_lag_p99_seconds{${SCOPE}}`, '{{instance}}']],
      },
    ],
  },
];

const DATASOURCE = { type: 'prometheus', uid: '$datasource' };
const COLUMNS = 3;
const WIDTH = 24 / COLUMNS;
const HEIGHT = 8;

function target([expr, legendFormat]: Query, i: number): object {
  return {
    datasource: DATASOURCE,
    editorMode: 'code',
    expr,
    legendFormat,
    range: true,
    refId: String.fromCharCode(65 + i),
  };
}

function panels(): object[] {
  const all: object[] = [];
  let y = 0;
  for (const row of ROWS) {
    const line = { h: 1, w: 24, x: 0, y };
    const head = { type: 'row', title: row.title, collapsed: false, gridPos: line, panels: [] };
    all.push({ id: all.length + 1, ...head });
    y += 1;
    for (const [i, panel] of row.panels.entries()) {
      const x = (i % COLUMNS) * WIDTH;
      const top = y + Math.floor(i / COLUMNS) * HEIGHT;
      all.push({
        id: all.length + 1,
        type: 'timeseries',
        title: panel.title,
        description: panel.description,
        datasource: DATASOURCE,
        gridPos: { h: HEIGHT, w: WIDTH, x, y: top },
        fieldConfig: { defaults: { unit: panel.unit, min: 0 }, overrides: [] },
        options: {
          legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
          tooltip: { mode: 'multi', sort: 'desc' },
        },
        targets: panel.queries.map(target),
      });
    }
    y += Math.ceil(row.panels.length / COLUMNS) * HEIGHT;
  }
  return all;
}

function variable(name: string, label: string, metric: string): object {
  const query = `label_values(${metric}, ${name})`;
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: name },
    includeAll: true,
    allValue: '.*',
    multi: true,
    current: { text: ['All'], value: ['$__all'] },
    refresh: 2,
    sort: 1,
  };
}

export const dashboard = {
  title: 'Capstan controllers',
  uid: 'capstan-controllers',
  description: 'Controllers, work queues, informers and requests of processes that use Capstan.',
  tags: ['capstan', 'kubernetes', 'controller-runtime'],
  schemaVersion: 39,
  editable: true,
  graphTooltip: 1,
  refresh: '30s',
  time: { from: 'now-1h', to: 'now' },
  timezone: 'browser',
  templating: {
    list: [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
      variable('job', 'Job', 'process_start_time_seconds'),
      variable('instance', 'Instance', 'process_start_time_seconds{job=~"$job"}'),
      variable('controller', 'Controller', 'controller_runtime_max_concurrent_reconciles'),
    ],
  },
  annotations: { list: [] },
  panels: panels(),
};

if (import.meta.main)
  writeFileSync(
    new URL('dashboard.json', import.meta.url),
    `${JSON.stringify(dashboard, null, 2)}\n`,
  );
