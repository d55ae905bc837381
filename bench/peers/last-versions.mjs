// Checks that a measured controller in Node leaves no work out: it has to reconcile the last
// version of each of the 1000 Pods of watch-server.mjs, with the node of that version where it
// reads the spec. Time and CPU run from the first reconcile of an update that is not one of the
// warm-up to the last. The same code runs during the warm-up: see stopwatch.mjs.

const COUNT = 1000;
const FIRST = 2_000_000;

export class LastVersions {
  #warmUp;
  #events;
  /** By Pod, the last round in which it was reconciled. A round is one update of each Pod. */
  #rounds = new Int32Array(COUNT).fill(-1);
  /** By round, the number of Pods that were reconciled in it. */
  #done;
  #round = -1;
  #reconciles = 0;
  #start = 0;
  #cpu;

  constructor(events, warmUp = 0) {
    if (!(Number.isSafeInteger(events) && events >= COUNT && events % COUNT === 0 &&
      warmUp % COUNT === 0))
      throw new Error(`expected events and a warm-up of whole rounds of ${COUNT}, got ${events} ` +
        `and ${warmUp}`);
    this.#warmUp = warmUp / COUNT;
    this.#events = events;
    this.#done = new Int32Array((warmUp + events) / COUNT);
  }

  /**
   * Counts what a reconcile has read from its cache. Returns the figures once the last version of
   * each Pod was reconciled.
   */
  reconciled(name, resourceVersion, nodeName) {
    const event = Number(resourceVersion) - FIRST;
    if (!(event >= 0)) return undefined; // of the list
    const index = Number.parseInt(name.slice('web-frontend-'.length), 16);
    if (event % COUNT !== index || (nodeName !== undefined &&
      nodeName !== `node-${(event * 7) % 1000}`))
      throw new Error(`${name} at ${resourceVersion} has ${nodeName}, which the server never sent`);
    const round = Math.floor(event / COUNT);
    if (round > this.#round) this.#begin(round);
    this.#reconciles++;
    if (this.#rounds[index] === round) return undefined;
    this.#rounds[index] = round;
    if (++this.#done[round] < COUNT) return undefined;
    const measured = this.#read();
    return round === this.#done.length - 1 ? measured : undefined;
  }

  #begin(round) {
    this.#round = round;
    if (round > this.#warmUp) return;
    this.#reconciles = 0;
    this.#start = performance.now();
    this.#cpu = process.cpuUsage();
  }

  #read() {
    const { user, system } = process.cpuUsage(this.#cpu);
    return {
      ns: ((performance.now() - this.#start) * 1e6) / this.#events,
      cpu: ((user + system) * 1e3) / this.#events,
      reconciles: this.#reconciles,
    };
  }
}
