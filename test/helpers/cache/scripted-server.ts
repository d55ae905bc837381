/**
 * Lists, watch events and streams that a test writes, and a transport that returns them in turn.
 */
import { type Transport, TransportError, type TransportRequest } from 'capstan/cache';
import type { ConfigMap } from '../resources.ts';
import { type FakeResponse, Stream } from './live-server.ts';

export function configMapAt(
  name: string,
  resourceVersion: string,
  more: Partial<ConfigMap> = {},
): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    ...more,
    metadata: { namespace: 'default', name, resourceVersion },
  };
}

export const event = (type: string, object: object): string =>
  `${JSON.stringify({ type, object })}\n`;

export function bookmark(resourceVersion: string, initialEventsEnd?: string): string {
  const annotations =
    initialEventsEnd === undefined ? {} : { 'k8s.io/initial-events-end': initialEventsEnd };
  return event('BOOKMARK', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { resourceVersion, annotations },
  });
}

export function status(code: number, reason: string, more: object = {}): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message: reason,
    ...more,
  };
}

export function listBody(resourceVersion: string, items: object[], token = ''): string {
  return JSON.stringify({
    kind: 'ConfigMapList',
    apiVersion: 'v1',
    metadata: { resourceVersion, continue: token },
    items,
  });
}

/** 200 with these bytes; then the stream is closed, reset, or stays open. */
export function stream(
  frames: string[],
  end: 'close' | 'reset' | 'hold',
  signal?: AbortSignal,
): FakeResponse {
  const body = new Stream();
  for (const frame of frames) body.send(frame);
  if (end === 'close') body.close();
  if (end === 'reset') body.close(new TransportError('reset', 'the connection was reset'));
  return { status: 200, headers: new Headers(), body: body.body(signal) };
}

export type Reply = (request: TransportRequest) => FakeResponse;

/** The nth request gets the nth reply; the last one answers all that come after it. */
export class Replies implements Transport {
  readonly requests: TransportRequest[] = [];
  readonly #replies: readonly Reply[];

  constructor(...replies: Reply[]) {
    this.#replies = replies;
  }

  async request(request: TransportRequest): Promise<FakeResponse> {
    this.requests.push(request);
    const reply = this.#replies[Math.min(this.requests.length, this.#replies.length) - 1];
    if (reply === undefined) throw new Error('no reply');
    return reply(request);
  }

  /** `list 0`, `watch 5`, `stream` and the version asked for, in order. */
  asked(): string[] {
    return this.requests.map(({ query = {} }) => {
      const verb =
        query.watch !== 'true' ? 'list' : query.sendInitialEvents === 'true' ? 'stream' : 'watch';
      return (
        `${verb} ` +
        `${query.resourceVersion ?? ''}${query.limit === undefined ? '' : ` limit ${query.limit}`}`
      );
    });
  }
}
