/**
 * The simplest cache, to compare ours with: parsed objects in a Map, filled by a list in pages and
 * a watch whose lines are parsed as they come. It has no indices, no queues of handlers and no
 * recovery, and keeps managedFields, as client-node does.
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

export interface Pod {
  metadata: { namespace: string; name: string; resourceVersion: string };
  spec: { nodeName: string };
}

const PAGE = 500;
const LF = 0x0a;

export class ParsedCache {
  readonly objects = new Map<string, Pod>();

  put(pod: Pod): void {
    this.objects.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod);
  }

  async list(url: string): Promise<void> {
    let token = '';
    do {
      const response = await fetch(
        `${url}/api/v1/pods?limit=${PAGE}${token && `&continue=${token}`}`,
      );
      const page = (await response.json()) as { items: Pod[]; metadata: { continue?: string } };
      for (const pod of page.items) this.put(pod);
      token = page.metadata.continue ?? '';
    } while (token !== '');
  }

  /** Resolves when the watch is open. */
  async watch(url: string, onUpdate: (pod: Pod) => void): Promise<void> {
    const [response] = (await once(get(`${url}/api/v1/pods?watch=true`), 'response')) as [
      IncomingMessage,
    ];
    let rest: Buffer = Buffer.alloc(0);
    response.on('data', (chunk: Buffer) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let from = 0;
      for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, from)) {
        const { object } = JSON.parse(bytes.toString('utf8', from, end)) as { object: Pod };
        this.put(object);
        onUpdate(object);
        from = end + 1;
      }
      rest = bytes.subarray(from);
    });
  }
}
