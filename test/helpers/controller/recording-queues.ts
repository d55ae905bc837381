/** Queues that record their calls and small objects, for sources, handlers and predicates. */
import type { Change } from 'capstan/cache';
import type {
  Cause,
  EventHandler,
  HandlerQueue,
  Logger,
  Source,
  SourceQueue,
} from 'capstan/controller';
import type { AddOptions, Request } from 'capstan/workqueue';
import { onTestFinished } from 'vitest';

export interface Added extends AddOptions {
  request: string;
  cause: Cause;
}

/** The queue of a controller. */
export class RecordingQueue implements SourceQueue {
  readonly added: Added[] = [];

  addWithCause(options: AddOptions, { namespace, name }: Request, cause: Cause): void {
    this.added.push({ ...options, request: `${namespace}/${name}`, cause });
  }

  requests(): string[] {
    return this.added.map(({ request }) => request);
  }
}

/** The queue of a handler that is called directly. */
export class RecordingHandlerQueue implements HandlerQueue {
  readonly added: (AddOptions & { request: string })[] = [];

  add(request: Request): void {
    this.addWithOpts({}, request);
  }

  addAfter(request: Request, after: number): void {
    this.addWithOpts({ after }, request);
  }

  addRateLimited(request: Request): void {
    this.addWithOpts({ rateLimited: true }, request);
  }

  addWithOpts(options: AddOptions, ...requests: Request[]): void {
    for (const { namespace, name } of requests)
      this.added.push({ ...options, request: `${namespace}/${name}` });
  }
}

/** A source that runs until the test ends or `stop` is called. */
export async function started(
  source: Source,
  logger?: Logger,
): Promise<{ queue: RecordingQueue; signal: AbortSignal; stop(): void }> {
  const queue = new RecordingQueue();
  const end = new AbortController();
  onTestFinished(() => end.abort());
  await source.start({ queue, signal: end.signal, logger });
  return { queue, signal: end.signal, stop: () => end.abort() };
}

export interface EventObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    namespace?: string;
    name: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    labels?: Record<string, string> | null;
    annotations?: Record<string, string> | null;
    ownerReferences?: {
      apiVersion?: string;
      kind?: string;
      name?: string;
      uid?: string;
      controller?: boolean;
    }[];
  };
  spec?: unknown;
  status?: unknown;
}

export function eventObject(
  name: string,
  metadata: Partial<EventObject['metadata']> = {},
): EventObject {
  return { metadata: { namespace: 'n', name, resourceVersion: '1', ...metadata } };
}

/** The change of two objects that were not compared. */
export const unknownChange: Change = {
  generation: true,
  labels: true,
  annotations: true,
  spec: true,
  status: true,
  metadata: true,
  deletion: true,
};

/** Records each event, such as `create n/a`, and adds the request of its object. */
export function telling(into: string[]): EventHandler<EventObject> {
  const tell = (kind: string, { metadata }: EventObject, queue: HandlerQueue): void => {
    const { namespace = '', name } = metadata;
    into.push(`${kind} ${namespace}/${name}`);
    queue.add({ namespace, name });
  };
  return {
    create: ({ object, isInInitialList }, queue) =>
      tell(isInInitialList ? 'initial' : 'create', object, queue),
    update: ({ objectNew }, queue) => tell('update', objectNew, queue),
    delete: ({ object, deleteStateUnknown }, queue) =>
      tell(deleteStateUnknown ? 'lost' : 'delete', object, queue),
    generic: ({ object }, queue) => tell('generic', object, queue),
  };
}
