/**
 * Metrics of API Priority and Fairness, as its headers tell: under which FlowSchema and priority
 * level the API server put the requests of this process, and what it rejected. k8s.io/apiserver:
 * pkg/server/filters/priority-and-fairness.go.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { byName, labelPairs, metricFamily, type Sample } from '../base/exposition.ts';
import { handleError } from '../base/handle-error.ts';
import { defineResource } from '../base/resource.ts';
import { listItems } from '../cache/reflector/watch.ts';
import { isStatusError } from '../cache/rest/status-error.ts';
import type { Transport, TransportResponse } from '../cache/rest/transport.ts';

/**
 * How many pairs of FlowSchema and priority level are told apart. A cluster has about fifteen; one
 * that makes them anew all the time must not fill the memory of this process.
 */
const MOST_FLOWS = 100;
const OTHER = 'other';

/** The UIDs of a FlowSchema and a priority level, and what was counted under them. */
interface Flow {
  readonly schema: string;
  readonly level: string;
  answered: number;
  rejected: number;
  /** The sum of what Retry-After said, in seconds. */
  retryAfter: number;
}

/** Counts answers by FlowSchema and priority level. */
export class FlowMetrics {
  readonly #flows = new Map<string, Flow>();
  readonly #names = new Map<string, string>();

  /** Counts an answer. Returns its UIDs that have no name yet; none for one without the headers. */
  answered({ status, headers }: TransportResponse): string[] {
    const schema = headers.get('x-kubernetes-pf-flowschema-uid');
    const level = headers.get('x-kubernetes-pf-prioritylevel-uid');
    if (!schema || !level) return [];
    const flow = this.#flow(schema, level);
    flow.answered++;
    if (status === 429) {
      flow.rejected++;
      const seconds = Number(headers.get('retry-after') ?? 0);
      if (seconds > 0 && seconds < Number.POSITIVE_INFINITY) flow.retryAfter += seconds;
    }
    return [flow.schema, flow.level].filter((uid) => uid !== OTHER && !this.#names.has(uid));
  }

  /** A UID is shown by this name from now on. */
  named(uid: string, name: string): void {
    this.#names.set(uid, name);
  }

  lines(): string[] {
    return [
      ...metricFamily(
        'counter',
        'capstan_client_flow_rejected_total',
        'Number of requests that the API server answered with 429, by flow schema and level.',
        this.#samples(({ rejected }) => rejected),
      ),
      ...metricFamily(
        'counter',
        'capstan_client_flow_requests_total',
        'Number of requests that the API server answered, by flow schema and priority level.',
        this.#samples(({ answered }) => answered),
      ),
      ...metricFamily(
        'counter',
        'capstan_client_flow_retry_after_seconds_total',
        'Seconds that the API server asked to wait with 429, by flow schema and priority level.',
        this.#samples(({ retryAfter }) => retryAfter),
      ),
    ];
  }

  #flow(schema: string, level: string): Flow {
    const key = `${schema} ${level}`;
    const known = this.#flows.get(key);
    if (known !== undefined) return known;
    if (this.#flows.size >= MOST_FLOWS && schema !== OTHER) return this.#flow(OTHER, OTHER);
    const flow: Flow = { schema, level, answered: 0, rejected: 0, retryAfter: 0 };
    this.#flows.set(key, flow);
    return flow;
  }

  /** One that was deleted and made again has the same name under another UID. */
  #samples(value: (flow: Flow) => number): Sample[] {
    const sums = new Map<string, number>();
    const nameOf = (uid: string): string => this.#names.get(uid) ?? uid;
    for (const flow of this.#flows.values()) {
      const labels = labelPairs({
        flow_schema: nameOf(flow.schema),
        priority_level: nameOf(flow.level),
      });
      sums.set(labels, (sums.get(labels) ?? 0) + value(flow));
    }
    return byName(sums);
  }
}

/** Milliseconds between two lists of names. */
const LIST_AGAIN = 60_000;

const KINDS = {
  flowschemas: 'FlowSchema',
  prioritylevelconfigurations: 'PriorityLevelConfiguration',
};

function kinds() {
  const rest = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', namespaced: false };
  return Object.entries(KINDS).map(([plural, kind]) =>
    defineResource<object>()({ ...rest, plural, kind }),
  );
}

/**
 * Lists FlowSchemas and priority levels when a UID without a name has come, at most once a minute.
 * After an answer that refuses it nothing is asked again, and the UIDs remain.
 */
export class FlowNames {
  readonly #transport: Transport;
  readonly #metrics: FlowMetrics;
  readonly #clock: Clock;
  #askedAt = Number.NEGATIVE_INFINITY;
  #refused = false;

  constructor(transport: Transport, metrics: FlowMetrics, clock: Clock = systemClock) {
    this.#transport = transport;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** Resolves when the names are there, or cannot be had now. Never rejects. */
  async find(uids: readonly string[]): Promise<void> {
    const now = this.#clock.now();
    if (uids.length === 0 || this.#refused || now - this.#askedAt < LIST_AGAIN) return;
    this.#askedAt = now;
    try {
      for (const kind of kinds())
        for await (const { metadata } of listItems(this.#transport, kind))
          if (metadata.uid !== undefined) this.#metrics.named(metadata.uid, metadata.name ?? '');
    } catch (error) {
      if (!isStatusError(error) || error.status >= 500 || error.status === 429) return;
      this.#refused = true;
      handleError(error, 'names of FlowSchemas and priority levels: metrics show their UIDs');
    }
  }
}
