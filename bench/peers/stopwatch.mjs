// Measures wall time and CPU of EVENTS that come after WARMUP others, for every reader in Node.
// During the warm-up the stopwatch starts again each LAP events, so that its start is compiled
// before the measuring begins. Otherwise V8 would discard the optimised code around a start that
// never ran, which costs more in a reader with more code of its own.

const LAP = 1000;

export class Stopwatch {
  #events;
  #warmUp;
  #seen = 0;
  #start = 0;
  #cpu = process.cpuUsage();

  constructor(events, warmUp = 0) {
    this.#events = events;
    this.#warmUp = warmUp;
  }

  /** An event has come. */
  tick() {
    if (this.#seen <= this.#warmUp && (this.#warmUp - this.#seen) % LAP === 0) this.#begin();
    this.#seen++;
  }

  #begin() {
    this.#start = performance.now();
    this.#cpu = process.cpuUsage();
  }

  /** All events have come. */
  get isOver() {
    return this.#seen >= this.#warmUp + this.#events;
  }

  /** Nanoseconds for each of EVENTS since the first one that counts. */
  read() {
    const { user, system } = process.cpuUsage(this.#cpu);
    return {
      ns: ((performance.now() - this.#start) * 1e6) / this.#events,
      cpu: ((user + system) * 1e3) / this.#events,
    };
  }
}
