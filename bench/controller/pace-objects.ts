/**
 * The objects that pace-server.ts sends, and the check that a reader has seen the last version of
 * every object.
 */
import { pod } from '../peers/pods.mjs';

export const PACE_KINDS = ['ConfigMap', 'Pod'] as const;
export type PaceKind = (typeof PACE_KINDS)[number];
export const pluralOf = (kind: PaceKind): string => `${kind.toLowerCase()}s`;

/** The readers of pace-load.ts. */
export const PACE_READERS = [
  'null-reader',
  'informer',
  'controller',
  'client-node',
  'client-node-queue',
] as const;
export type PaceReader = (typeof PACE_READERS)[number];

/** The figures that a run prints. */
export interface PaceFigures {
  reader: string;
  /** Microseconds of the process's CPU an event, from the first event to the last one settled. */
  cpu: number;
  /** The same, from before the request of the list. */
  cpuWithList: number;
  /** The part of `cpu` of the main thread. */
  mainThread: number;
  /** Events, or reconciles where there are any. */
  handled: number;
  /** Resident memory at the end, in MB. */
  resident: number;
}

/** The version of the first update; those of the list are lower. */
export const FIRST_VERSION = 2_000_000;
/** Characters of a ConfigMap's one value. */
const TEXT_LENGTH = 4000;
const WORDS = 'the quick brown fox jumps over a lazy dog while nobody looks at what it does';
const TEXT = `${WORDS} `.repeat(TEXT_LENGTH / WORDS.length + 1).slice(0, TEXT_LENGTH);

/** @param round differs in each version of an object */
export function objectText(kind: PaceKind, i: number, version: number, round: number): string {
  if (kind === 'Pod') return JSON.stringify(pod(i, version, (round * 7) % 1000));
  const hex = i.toString(16).padStart(8, '0');
  const text = `${round} ${TEXT}`.slice(0, TEXT_LENGTH);
  return JSON.stringify({
    kind,
    apiVersion: 'v1',
    metadata: {
      name: `settings-${hex}`,
      namespace: `team-${i % 200}`,
      uid: `8f1f9a1e-1c2b-4b3c-9d4e-0000${hex}`,
      resourceVersion: String(version),
      creationTimestamp: '2026-01-05T08:00:00Z',
      labels: { app: `app-${i % 500}` },
    },
    data: { text },
  });
}

/**
 * Measures one run of a reader. Call `begin` before its first request, and `saw` for each version
 * that it gets.
 */
export class PaceRun {
  readonly #reader: PaceReader;
  readonly #objects: number;
  readonly #events: number;
  /** Objects whose last version was seen. */
  readonly #last = new Set<number>();
  #handled = 0;
  #begin = process.cpuUsage();
  #first: NodeJS.CpuUsage | undefined;
  #firstOfThread: NodeJS.CpuUsage | undefined;

  constructor(reader: PaceReader, objects: number, events: number) {
    this.#reader = reader;
    this.#objects = objects;
    this.#events = events;
  }

  begin(): void {
    this.#begin = process.cpuUsage();
  }

  /** Ends the process when the last version of every object was seen. */
  saw(resourceVersion: string | undefined): void {
    const event = Number(resourceVersion) - FIRST_VERSION;
    if (!(event >= 0)) return; // of the list
    this.started();
    this.#handled++;
    if (event < this.#events - this.#objects) return;
    this.#last.add(event);
    if (this.#last.size === Math.min(this.#objects, this.#events)) this.end();
  }

  /** The first event has come. */
  started(): void {
    if (this.#first !== undefined) return;
    this.#first = process.cpuUsage();
    this.#firstOfThread = process.threadCpuUsage();
  }

  end(handled: number = this.#handled): void {
    const each = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / this.#events;
    const figures: PaceFigures = {
      reader: this.#reader,
      cpu: each(process.cpuUsage(this.#first)),
      cpuWithList: each(process.cpuUsage(this.#begin)),
      mainThread: each(process.threadCpuUsage(this.#firstOfThread)),
      handled,
      resident: process.memoryUsage.rss() / 1e6,
    };
    console.log(JSON.stringify(figures));
    process.exit(0);
  }
}
