/**
 * CPU and wall time per watch event of our informer, measured as peers/client-node/informer.mjs does it:
 *
 *     node bench/capstan-informer.ts URL EVENTS
 */
import { defineResource, ListWatch, SharedIndexInformer } from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import type { Figure } from './figures.ts';

interface Pod {
  apiVersion?: string;
  kind?: string;
  metadata?: { namespace?: string; name?: string; resourceVersion?: string };
}

const [url = '', count = ''] = process.argv.slice(2);
const events = Number(count);
const pods = defineResource<Pod>()({ group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true });
const informer = new SharedIndexInformer(new ListWatch(httpTransport(url), pods));

let seen = 0;
let start = 0;
let cpu = process.cpuUsage();
informer.addEventHandler({
  onUpdate() {
    if (seen === 0) [start, cpu] = [performance.now(), process.cpuUsage()];
    if (++seen < events) return;
    const ns = ((performance.now() - start) * 1e6) / events;
    const used = process.cpuUsage(cpu);
    const figure: Figure = {
      peer: 'capstan',
      work: 'informer',
      n: events,
      ns,
      cpu: ((used.user + used.system) * 1e3) / events,
    };
    console.log(JSON.stringify(figure));
    process.exit(0);
  },
});
await informer.run();
