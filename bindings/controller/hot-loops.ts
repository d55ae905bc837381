/**
 * Detects hot loops: a reconcile writes an object, the event of that write requests the next
 * reconcile, which writes again, and only a version, a generation or a time has changed.
 *
 * It looks only at writes, so that the path from an event to a reconcile does not get slower. A
 * write is attributed to a running reconcile that concerns its object. Runs without an event as
 * their cause (a timer, a retry) do not count. A periodic reconcile is therefore no loop, and
 * neither is a write of new content after a change from outside.
 *
 * At most one write in a run counts, in one of these cases:
 * - Its content is that of the previous write, also if others changed it back in between.
 * - All causes of the run are own writes, and the content differs from one of the last ones at most
 *   in times.
 * - All causes of the run are own writes, whatever the content, for example a counter. Ten times as
 *   many of these make a loop, because work in steps looks the same.
 *
 * Memory is bounded: it keeps the objects that were written last and the loops that were reported.
 */

import type { Clock } from '../base/clock.ts';
import { hashText } from '../base/json-value.ts';
import type { Request } from '../base/request.ts';
import type { Resource } from '../base/resource.ts';
import type { WriteRecord } from '../client/written.ts';
import { contentOf, pathsBetween, pathsOfBody, withoutTimes } from './object-content.ts';
import type { HotLoopReport } from './report.ts';
import type { Run } from './run.ts';
import type { Cause } from './source.ts';

/**
 * The first writes of an object are not compared, because most objects are not written more often.
 */
const FIRST_WRITES = 5;
/**
 * The number of such writes in a row that make a loop, and the number if each write has new
 * content.
 */
const LOOP_WRITES = 10;
const LOOP_STEPS = 100;
/** Writes spread over a longer time, in milliseconds, are no hot loop. */
const WITHIN_MS = 600_000;
/** The number of objects whose last writes are kept. */
const MOST_OBJECTS = 1024;
/** The versions and contents that are kept of one object. */
const MOST_VERSIONS = 8;
const MOST_REPORTED_PATHS = 1000;
const MOST_LOOPS = 20;
const MOST_PATHS = 5;

export interface HotLoopParts {
  readonly clock: Clock;
  /** `Website.demo.example`. */
  readonly groupKind: string;
  running(): readonly Run[];
  /** The object in one of the controller's caches. */
  cached(key: Request, resource: Resource<object, never>): object | undefined;
  /** Called for each write of a loop. */
  onLoopWrite(): void;
  /** Called once for each request and path. */
  onLoop(loop: HotLoopReport, request: Request): void;
}

/** The last writes of one object. */
interface Track {
  /** The resourceVersions that runs have written. */
  readonly versions: string[];
  /** Hashes of the written contents without times, newest last. */
  readonly contents: number[];
  /** The hash of the last content with its times; undefined before the second write. */
  content: number | undefined;
  /** The object in the server's last response, once a loop is suspected. */
  last: object | undefined;
  paths: readonly string[];
  runId: string;
  /** The number of writes that were not compared. */
  passed: number;
  count: number;
  steps: number;
  since: number;
}

interface RelatedRun {
  readonly run: Run;
  /** The object is a cause of the run, is the object of the request, or is owned by it. */
  readonly isRelated: boolean;
}

interface ReportedLoop extends Omit<HotLoopReport, 'agoMs'> {
  readonly at: number;
}

export class HotLoops {
  readonly #parts: HotLoopParts;
  /** By kind, namespace and name, in the order of the last write. */
  readonly #tracks = new Map<string, Track>();
  readonly #reportedPaths = new Set<string>();
  /** By request and object, newest last. */
  readonly #loops = new Map<string, ReportedLoop>();

  constructor(parts: HotLoopParts) {
    this.#parts = parts;
  }

  /** The number of objects whose last writes are kept. */
  get size(): number {
    return this.#tracks.size;
  }

  /** The loops of the last ten minutes, newest first. */
  report(now: number): HotLoopReport[] {
    return [...this.#loops.values()]
      .filter(({ at }) => now - at <= WITHIN_MS)
      .map(({ at, ...loop }) => ({ ...loop, agoMs: Math.max(now - at, 0) }))
      .reverse();
  }

  wrote(written: WriteRecord): void {
    const { kind, namespace = '', name, version } = identityOf(written);
    if (name === undefined || version === undefined) return;
    const id = `${kind} ${namespace}/${name}`;
    const track = this.#trackOf(id);
    if (track.versions.includes(version)) return; // the write changed nothing
    const found = this.#runOf(written, id, namespace, name);
    if (found === undefined) return;
    this.#check(track, found, written, id);
    // At the end, because the causes of a run are older than its writes.
    if (track.versions.push(version) > MOST_VERSIONS) track.versions.shift();
  }

  #trackOf(id: string): Track {
    const track = this.#tracks.get(id) ?? {
      ...{ versions: [], contents: [], content: undefined, last: undefined, paths: [] },
      ...{ runId: '', passed: 0, count: 0, steps: 0, since: 0 },
    };
    this.#tracks.delete(id);
    this.#tracks.set(id, track);
    if (this.#tracks.size > MOST_OBJECTS) this.#tracks.delete(first(this.#tracks));
    return track;
  }

  /** The run that concerns the object, or the only running one. Undefined if it is ambiguous. */
  #runOf(
    { answer }: WriteRecord,
    id: string,
    namespace: string,
    name: string,
  ): RelatedRun | undefined {
    const { ownerReferences, resourceVersion } = (answer as { metadata: Metadata }).metadata;
    // A run whose cause is this very write did not make it: the event arrived before the response.
    const running = this.#parts
      .running()
      .filter(({ causes }) =>
        causes.every(
          (cause) => cause.object?.resourceVersion !== resourceVersion || objectOf(cause) !== id,
        ),
      );
    const [run] = running;
    if (run === undefined) return undefined;
    const ofKind = `${this.#parts.groupKind.split('.')[0]} `;
    const isAbout = ({ request }: Run): boolean =>
      (request.namespace === namespace && request.name === name && id.startsWith(ofKind)) ||
      ownerReferences?.some(
        (owner) => owner.name === request.name && ofKind === `${owner.kind} `,
      ) === true;
    const related =
      running.find(({ causes }) => causes.some((cause) => objectOf(cause) === id)) ??
      running.find(isAbout);
    if (related !== undefined) return { run: related, isRelated: true };
    return running.length === 1 ? { run, isRelated: false } : undefined;
  }

  #check(track: Track, { run, isRelated }: RelatedRun, written: WriteRecord, id: string): void {
    const now = this.#parts.clock.now();
    const causes = run.causes.filter(({ object }) => object !== undefined);
    if (causes.length === 0) return;
    if (track.runId === '' || now - track.since > WITHIN_MS) {
      Object.assign(track, { passed: 1, count: 0, steps: 0, since: now, last: undefined });
      track.runId = run.id;
      return;
    }
    if (track.passed < FIRST_WRITES) {
      if (run.id !== track.runId) track.passed++;
      track.runId = run.id;
      return;
    }
    const text = contentOf(written.answer);
    const content = hashText(text, 0);
    const timeless = hashText(withoutTimes(text), 0);
    const isFirst = track.content === undefined;
    const same = content === track.content;
    const timesOnly = timeless === track.contents.at(-1);
    const known = track.contents.includes(timeless);
    track.content = content;
    remember(track.contents, timeless);
    const isNext = run.id !== track.runId;
    track.runId = run.id;
    const byOwnWrites = causes.every((cause) => this.#isOwn(cause));
    if (isNext) {
      if ((same && isRelated) || (byOwnWrites && known)) track.count++;
      else if (byOwnWrites || !timesOnly) track.count = 0;
      track.steps = byOwnWrites ? track.steps + 1 : 0;
      if (track.count === 0 && track.steps === 0) {
        track.since = now;
        if (!isFirst) Object.assign(track, { passed: 0, content: undefined });
      }
    }
    this.#findPaths(track, written);
    if (!isNext || (track.count < LOOP_WRITES && track.steps < LOOP_STEPS)) return;
    this.#parts.onLoopWrite();
    this.#addLoop(track, run, id, now);
  }

  /** Once a loop is suspected, finds the paths that differ. */
  #findPaths(track: Track, written: WriteRecord): void {
    if (track.count < LOOP_WRITES - 3 && track.steps < LOOP_STEPS - 3) return;
    const { answer, body, contentType } = written;
    if (track.last !== undefined) {
      const { last } = track;
      const ways = [
        () => pathsBetween(last, answer),
        () => pathsOfBody(contentType, body, last),
        () => {
          const { namespace = '', name = '' } = identityOf(written);
          const resource = written.resource as Resource<object, never>;
          const cached = this.#parts.cached({ namespace, name }, resource);
          return cached === undefined ? [] : pathsBetween(cached, answer);
        },
      ];
      const found = ways.map((way) => way()).find(({ length }) => length > 0);
      if (found !== undefined) track.paths = found.slice(0, MOST_PATHS);
    }
    track.last = answer;
  }

  #isOwn({ object }: Cause): boolean {
    const version = object?.resourceVersion;
    if (object === undefined || version === undefined) return false;
    const track = this.#tracks.get(`${object.kind} ${object.namespace}/${object.name}`);
    return track?.versions.includes(version) === true;
  }

  #addLoop(track: Track, { request }: Run, object: string, at: number): void {
    const { namespace, name } = request;
    const paths = track.paths.length === 0 ? ['metadata.resourceVersion'] : track.paths;
    const key = `${namespace}/${name} ${object}`;
    const times =
      (this.#loops.get(key)?.writes ?? Math.max(track.count, track.steps) + FIRST_WRITES - 1) + 1;
    const loop = { namespace, name, object, paths, writes: times };
    this.#loops.delete(key);
    this.#loops.set(key, { ...loop, at });
    if (this.#loops.size > MOST_LOOPS) this.#loops.delete(first(this.#loops));
    const newPaths = paths.filter((path) => !this.#reportedPaths.has(`${key} ${path}`));
    if (newPaths.length === 0) return;
    for (const path of newPaths) this.#reportedPaths.add(`${key} ${path}`);
    while (this.#reportedPaths.size > MOST_REPORTED_PATHS)
      this.#reportedPaths.delete(first(this.#reportedPaths));
    this.#parts.onLoop({ ...loop, agoMs: 0 }, request);
  }
}

interface Metadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly resourceVersion?: string;
  readonly ownerReferences?: readonly { readonly name?: string; readonly kind?: string }[];
}

function identityOf({ resource, answer }: WriteRecord) {
  const { kind = resource.kind, metadata = {} } = answer as { kind?: string; metadata?: Metadata };
  const { name, namespace, resourceVersion: version } = metadata;
  return { kind, namespace, name: kind === resource.kind ? name : undefined, version };
}

const objectOf = ({ object }: Cause): string =>
  object === undefined ? '' : `${object.kind} ${object.namespace}/${object.name}`;

const first = <V>(entries: Map<string, V> | Set<string>): string =>
  entries.keys().next().value as string;

/** Moves a content to the end, newest last. */
function remember(contents: number[], content: number): void {
  const at = contents.indexOf(content);
  if (at >= 0) contents.splice(at, 1);
  if (contents.push(content) > MOST_VERSIONS) contents.shift();
}
