// What every controller that is measured in Node counts, so that none can win by leaving work out: the last version of each of the 1000 Pods of
// watch-server.mjs has to be reconciled, with the node that this version has where the spec is read. Time and CPU run from the first reconcile of an update
// that is not one of the warm-up to the last.

const COUNT = 1000;
const FIRST = 2_000_000;

export class LastVersions {
  #warmUp;
  #events;
  #left = COUNT;
  #done = new Uint8Array(COUNT);
  #reconciles = 0;
  #start = 0;
  #cpu;

  constructor(events, warmUp = 0) {
    if (!(Number.isSafeInteger(events) && events >= COUNT)) throw new Error(`events expected ${COUNT} at least, got ${events}`);
    this.#warmUp = warmUp;
    this.#events = events;
  }

  /** A reconcile has read this from its cache. The figures, once all last versions were reconciled. */
  reconciled(name, resourceVersion, nodeName) {
    const event = Number(resourceVersion) - FIRST;
    if (!(event >= 0)) return undefined; // of the list
    const index = Number.parseInt(name.slice('web-frontend-'.length), 16);
    if (event % COUNT !== index || (nodeName !== undefined && nodeName !== `node-${(event * 7) % 1000}`))
      throw new Error(`${name} at ${resourceVersion} has ${nodeName}, which the server never sent`);
    if (event < this.#warmUp) return undefined;
    if (this.#reconciles++ === 0) [this.#start, this.#cpu] = [performance.now(), process.cpuUsage()];
    if (event < this.#warmUp + this.#events - COUNT || this.#done[index] === 1) return undefined;
    this.#done[index] = 1;
    if (--this.#left > 0) return undefined;
    const { user, system } = process.cpuUsage(this.#cpu);
    return {
      ns: ((performance.now() - this.#start) * 1e6) / this.#events,
      cpu: ((user + system) * 1e3) / this.#events,
      reconciles: this.#reconciles,
    };
  }
}
