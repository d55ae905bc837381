/**
 * An API server with Leases and one map in virtual time, and a network that loses, delays, repeats
 * and reorders: the world in which the machines of simulation.ts run.
 */
import { hashText } from '../../bindings/base/json-value.ts';
import type { LeaseView, MapView } from '../../bindings/shards/cluster-view.ts';
import type { ShardWrite } from '../../bindings/shards/machine.ts';
import { dataOfMap, mapOfData, type ShardMap } from '../../bindings/shards/shard-map.ts';
import type { Random } from '../helpers/random.ts';

interface ClusterEvent {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Real time in milliseconds, and what happens at which. */
export class VirtualTime {
  now = 0;
  #order = 0;
  readonly #heap: ClusterEvent[] = [];

  at(time: number, run: () => void): void {
    const heap = this.#heap;
    const event = { at: Math.max(time, this.now), order: this.#order++, run };
    let i = heap.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent] as ClusterEvent;
      if (!isEarlier(event, above)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = event;
  }

  after(ms: number, run: () => void): void {
    this.at(this.now + ms, run);
  }

  /** Runs what is due until `time`; false when nothing is left. */
  runUntil(time: number, isDone: () => boolean): void {
    for (let next = this.#heap[0]; next !== undefined && next.at <= time; next = this.#heap[0]) {
      this.#pop();
      this.now = next.at;
      next.run();
      if (isDone()) return;
    }
    this.now = time;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as ClusterEvent;
    const { length } = heap;
    if (length === 0) return;
    let i = 0;
    for (let child = 1; child < length; child = 2 * i + 1) {
      if (
        child + 1 < length &&
        isEarlier(heap[child + 1] as ClusterEvent, heap[child] as ClusterEvent)
      )
        child++;
      if (!isEarlier(heap[child] as ClusterEvent, last)) break;
      heap[i] = heap[child] as ClusterEvent;
      i = child;
    }
    heap[i] = last;
  }
}

const isEarlier = (a: ClusterEvent, b: ClusterEvent): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);

/** A release of the program: this one, or a later one that writes the map in another form. */
export type Release = 'this' | 'later';

const checked = (map: object): Record<string, string> => {
  const text = JSON.stringify(map);
  return { map: text, checksum: hashText(text, 1).toString(16) };
};

const partsOf = (data: Record<string, string>): object => JSON.parse(data.map ?? '{}');

/** The `data` of the map as a later release writes it. */
export const laterDataOf = (map: ShardMap): Record<string, string> =>
  checked({ ...partsOf(dataOfMap(map)), version: 2, more: 'unknown here' });

/** The map as a release reads it. A later release reads both forms. */
function mapOfRelease(release: Release, data: Record<string, string>): MapView['map'] {
  const map = mapOfData(data);
  if (map !== 'newer' || release === 'this') return map;
  return mapOfData(checked({ ...partsOf(data), version: 1 }));
}

export interface WriteAnswer {
  readonly result: 'done' | 'refused';
  readonly lease?: LeaseView | undefined;
  readonly object?: MapView | undefined;
}

/** Leases and a map with compare-and-swap, as kube-apiserver does it. */
export class ShardServer {
  readonly leases = new Map<string, LeaseView>();
  /** As a later release reads it. */
  map: MapView | undefined;
  version = 100;
  #uids = 0;
  /** Called after each change of a Lease. */
  onLease: (lease: LeaseView, isDeleted: boolean) => void = () => undefined;
  /** Called after each change of the map. */
  onMap: () => void = () => undefined;
  /** Called when this release has overwritten the map of a later one. */
  onDowngrade: () => void = () => undefined;

  mapFor(release: Release): MapView | undefined {
    const { map } = this;
    if (map === undefined) return undefined;
    return { ...map, map: mapOfRelease(release, map.raw as Record<string, string>) };
  }

  write(write: ShardWrite, release: Release = 'this'): WriteAnswer {
    if (write.kind === 'map') {
      const { map, base, verb } = write;
      const isCurrent =
        verb === 'create'
          ? this.map === undefined
          : this.map !== undefined &&
            this.map.version === base?.version &&
            this.map.uid === base.uid;
      if (!isCurrent) return { result: 'refused' };
      if (release === 'this' && this.mapFor('this')?.map === 'newer') this.onDowngrade();
      // Through the text, as a replica reads it.
      this.putMap(release === 'this' ? dataOfMap(map) : laterDataOf(map));
      return { result: 'done', object: this.mapFor(release) };
    }
    const { name, verb, base, content } = write;
    const stored = this.leases.get(name);
    const isCurrent =
      verb === 'create'
        ? stored === undefined
        : stored !== undefined && stored.version === base?.version && stored.uid === base.uid;
    if (!isCurrent) return { result: 'refused' };
    if (verb === 'delete') {
      this.deleteLease(name);
      return { result: 'done' };
    }
    const uid = stored?.uid ?? `u${++this.#uids}`;
    const lease: LeaseView = { name, uid, version: ++this.version, ...content };
    this.leases.set(name, lease);
    this.onLease(lease, false);
    return { result: 'done', lease };
  }

  putMap(data: Record<string, string>): void {
    const uid = this.map?.uid ?? `u${++this.#uids}`;
    this.map = { uid, version: ++this.version, map: mapOfRelease('later', data), raw: data };
    this.onMap();
  }

  deleteMap(): void {
    this.map = undefined;
    this.version++;
    this.onMap();
  }

  deleteLease(name: string): void {
    const lease = this.leases.get(name);
    if (lease === undefined) return;
    this.leases.delete(name);
    this.onLease({ ...lease, version: ++this.version }, true);
  }
}

/** The faults of the network, as probabilities for each message. */
export interface ShardWeather {
  readonly lost: number;
  readonly lostAnswer: number;
  readonly repeated: number;
  readonly serverError: number;
  readonly lostEvent: number;
  /** The longest delay of a message; most are much shorter. */
  readonly delayMs: number;
}

const CALM: ShardWeather = {
  lost: 0,
  lostAnswer: 0,
  repeated: 0,
  serverError: 0,
  lostEvent: 0,
  delayMs: 20,
};

/** The way between a process and the server. */
export class ShardNetwork {
  weather = CALM;
  readonly #time: VirtualTime;
  readonly #random: Random;
  #awayUntil = 0;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  /** The server refuses everything for a while. */
  outage(ms: number): void {
    this.#awayUntil = Math.max(this.#awayUntil, this.#time.now + ms);
  }

  heal(): void {
    this.weather = CALM;
    this.#awayUntil = 0;
  }

  /**
   * Carries a request to the server and the answer back; `undefined` for one that failed. No answer
   * may come at all.
   */
  send<A>(
    isCut: () => boolean,
    carryOut: () => A,
    answered: (answer: A | undefined) => void,
  ): void {
    const time = this.#time;
    const random = this.#random;
    const { lost, lostAnswer, repeated, serverError } = this.weather;
    const fail = (): void => {
      if (!random.chance(0.3)) time.after(this.#delay(), () => answered(undefined));
    };
    if (isCut()) {
      fail();
      return;
    }
    const arrive = (isRepeated: boolean): void => {
      if (isCut() || time.now < this.#awayUntil || random.chance(lost)) {
        if (!isRepeated) fail();
        return;
      }
      const isRefused = random.chance(serverError);
      if (isRefused && random.chance(0.5)) {
        if (!isRepeated) fail();
        return;
      }
      const answer = carryOut();
      if (isRepeated) return;
      if (isRefused || random.chance(lostAnswer)) fail();
      else
        time.after(this.#delay(), () => {
          if (isCut()) fail();
          else answered(answer);
        });
    };
    time.after(this.#delay(), () => arrive(false));
    if (random.chance(repeated)) time.after(4 * this.#delay(), () => arrive(true));
  }

  /** Carries an event of a watch. */
  tell(isCut: () => boolean, deliver: () => void): void {
    const random = this.#random;
    const { lostEvent, repeated } = this.weather;
    if (isCut() || this.#time.now < this.#awayUntil || random.chance(lostEvent)) return;
    this.#time.after(this.#delay(), () => {
      if (!isCut()) deliver();
    });
    if (random.chance(repeated)) this.#time.after(4 * this.#delay(), deliver);
  }

  #delay(): number {
    return this.weather.delayMs * this.#random.next() ** 4;
  }
}
