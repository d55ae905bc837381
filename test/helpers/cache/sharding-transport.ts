/**
 * A server's answers as ShardedListAndWatch (KEP-5866) gives them, over a transport to a server
 * that does not know it: `shardSelector` is applied, ignored, or refused with 500. It has a hash
 * and a parser of its own, so that it can judge those of the package.
 */
import type { Transport, TransportRequest } from 'capstan/cache';
import { answer, type FakeResponse, statusBody } from './live-server.ts';

/** What a server does with a selector; `off`, as of most servers: nothing. */
export type ShardGate = 'on' | 'off' | 'refuses';

/** FNV-1a, 64 bits, as its authors define it. */
function hash(text: string): bigint {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text))
    value = ((value ^ BigInt(byte)) * 0x100000001b3n) % 2n ** 64n;
  return value;
}

function parsed(selector: string): (namespace: string) => boolean {
  const ranges = selector.split(' || ').map((term) => {
    const [, from, to] =
      /^shardRange\(object\.metadata\.namespace,'(0x[0-9a-f]{16})','(0x1?[0-9a-f]{16})'\)$/.exec(
        term,
      ) ?? [];
    if (from === undefined || to === undefined) throw new Error(`no selector: ${term}`);
    return { from: BigInt(from), to: BigInt(to) };
  });
  return (namespace) =>
    ranges.some(({ from, to }) => from <= hash(namespace) && hash(namespace) < to);
}

interface Item {
  kind?: string;
  metadata: { namespace?: string };
}

export class ShardingTransport implements Transport {
  readonly #inner: Transport;
  readonly gate: ShardGate;
  readonly requests: TransportRequest[] = [];
  /** Objects that were left out. */
  leftOut = 0;

  constructor(inner: Transport, gate: ShardGate) {
    this.#inner = inner;
    this.gate = gate;
  }

  async request(request: TransportRequest) {
    this.requests.push({ ...request, query: { ...request.query } });
    const { shardSelector, ...query } = request.query ?? {};
    if (shardSelector === undefined || this.gate === 'off')
      return this.#inner.request({ ...request, query });
    if (this.gate === 'refuses')
      return answer(500, statusBody(500, 'InternalError', 'invalid shard selector'));
    const response = await this.#inner.request({ ...request, query });
    if (response.status !== 200) return response;
    const has = parsed(shardSelector);
    const keeps = ({ metadata }: Item): boolean => {
      const kept = has(metadata.namespace ?? '');
      if (!kept) this.leftOut++;
      return kept;
    };
    const body =
      query.watch === 'true'
        ? frames(response.body, ({ type, object }) =>
            type === 'BOOKMARK' || type === 'ERROR' || object === undefined ? true : keeps(object),
          )
        : list(response.body, keeps, shardSelector);
    return { ...response, headers: response.headers, status: 200, body } as FakeResponse;
  }
}

async function* list(
  body: AsyncIterable<Uint8Array>,
  keeps: (item: Item) => boolean,
  selector: string,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  const value = JSON.parse(text);
  value.items = value.items.filter(keeps);
  value.metadata.shardInfo = { selector };
  yield new TextEncoder().encode(JSON.stringify(value));
}

/** Line by line; a line that is no event, and a piece of one at the end, pass as they are. */
async function* frames(
  body: AsyncIterable<Uint8Array>,
  keeps: (event: { type?: string; object?: Item }) => boolean,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let text = '';
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const line = text.slice(0, end + 1);
        text = text.slice(end + 1);
        if (isKept(line, keeps)) yield encoder.encode(line);
      }
    }
  } finally {
    if (text !== '') yield encoder.encode(text);
  }
}

function isKept(line: string, keeps: Parameters<typeof frames>[1]): boolean {
  try {
    return keeps(JSON.parse(line));
  } catch {
    return true;
  }
}
