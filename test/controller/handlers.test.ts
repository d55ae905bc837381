/** Event handlers: which requests an event leads to, and with which priority. */
import {
  type EventHandler,
  enqueueRequestForObject,
  enqueueRequestForOwner,
  enqueueRequestsFromMapFunc,
  type HandlerQueue,
  handlerFuncs,
  LowPriority,
  withLowPriorityWhenUnchanged,
} from 'capstan/controller';
import {
  FakeClock,
  PriorityQueue,
  RateLimitingQueue,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import {
  type EventObject,
  eventObject,
  RecordingHandlerQueue,
  unknownChange,
} from '../helpers/controller/recording-queues.ts';
import { collectErrors } from '../helpers/reported-errors.ts';

const reported = collectErrors();
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

/** Calls each method of a handler on its own and returns what it added. */
function on<T>(handler: EventHandler<T>) {
  const adding = (call: (queue: RecordingHandlerQueue) => unknown): string[] => {
    const queue = new RecordingHandlerQueue();
    call(queue);
    return queue.added.map(({ request }) => request);
  };
  return {
    create: (object: T, isInInitialList = false) =>
      adding((queue) => handler.create?.({ object, isInInitialList }, queue)),
    update: (objectOld: T, objectNew: T) =>
      adding((queue) => handler.update?.({ objectOld, objectNew, change: unknownChange }, queue)),
    delete: (object: T) =>
      adding((queue) => handler.delete?.({ object, deleteStateUnknown: false }, queue)),
    generic: (object: T) => adding((queue) => handler.generic?.({ object }, queue)),
  };
}

describe('enqueueRequestForObject', () => {
  const handler = on(enqueueRequestForObject());

  test('adds the object of every event, and the new one of an update', () => {
    expect(handler.create(eventObject('a'))).toEqual(['n/a']);
    expect(handler.update(eventObject('a'), eventObject('b'))).toEqual(['n/b']);
    expect(handler.delete(eventObject('a'))).toEqual(['n/a']);
    expect(handler.generic(eventObject('a', { namespace: undefined }))).toEqual(['/a']);
  });

  test('adds the only object that an update has', () => {
    const nothing = undefined as unknown as object;
    expect(handler.update(nothing, eventObject('b'))).toEqual(['n/b']);
    expect(handler.update(eventObject('a'), nothing)).toEqual(['n/a']);
  });

  test('reports objects without a name, and adds nothing', () => {
    const broken = [
      undefined,
      null,
      {},
      { metadata: null },
      { metadata: {} },
    ] as unknown as object[];
    for (const one of broken) {
      expect([
        handler.create(one),
        handler.delete(one),
        handler.generic(one),
        handler.update(one, one),
      ]).toEqual([[], [], [], []]);
    }
    expect(reported).toHaveLength(20);
    expect(reported[0]).toMatchObject({ error: invalid, what: 'handler enqueueRequestForObject' });
  });
});

describe('enqueueRequestsFromMapFunc', () => {
  const request = (name: string): Request => ({ namespace: 'm', name });

  test('adds what the function returns for the object, each once', () => {
    const seen: string[] = [];
    const handler = on(
      enqueueRequestsFromMapFunc(({ metadata }: EventObject) => {
        seen.push(metadata.name);
        return [request('x'), request(`of-${metadata.name}`), request('x')];
      }),
    );
    for (const kind of ['create', 'delete', 'generic'] as const)
      expect(handler[kind](eventObject('a'))).toEqual(['m/x', 'm/of-a']);
    expect(seen).toEqual(['a', 'a', 'a']);
  });

  test('calls the function with both states of an update, the old one first', () => {
    const handler = on(
      enqueueRequestsFromMapFunc(({ metadata }: EventObject) => [
        request(metadata.name),
        request('x'),
      ]),
    );
    expect(handler.update(eventObject('old'), eventObject('new'))).toEqual([
      'm/old',
      'm/x',
      'm/new',
    ]);
  });

  test('accepts any iterable, and a promise of one', async () => {
    const queue = new RecordingHandlerQueue();
    const set = enqueueRequestsFromMapFunc(() => new Set([request('a')]));
    set.create?.({ object: {}, isInInitialList: false }, queue);
    const later = enqueueRequestsFromMapFunc(async ({ metadata }: EventObject) => [
      request(metadata.name),
    ]);
    const event = {
      objectOld: eventObject('b'),
      objectNew: eventObject('c'),
      change: unknownChange,
    };
    const told: unknown = later.update?.(event, queue);
    expect(queue.added).toEqual([{ request: 'm/a' }]);
    await told;
    expect(queue.added.map(({ request, priority }) => [request, priority])).toEqual([
      ['m/a', undefined],
      ['m/b', LowPriority],
      ['m/c', LowPriority],
    ]);
    expect(() => enqueueRequestsFromMapFunc(undefined as unknown as () => [])).toThrow(invalid);
  });

  test('passes on the error of the function, thrown or rejected with', async () => {
    const error = new Error('no');
    const throwing = enqueueRequestsFromMapFunc(() => {
      throw error;
    });
    const event = { object: {}, isInInitialList: false };
    expect(() => throwing.create?.(event, new RecordingHandlerQueue())).toThrow(error);
    const rejecting = enqueueRequestsFromMapFunc(() => Promise.reject(error));
    await expect(rejecting.create?.(event, new RecordingHandlerQueue())).rejects.toBe(error);
  });

  // Each request was compared with all earlier ones: an event that requests everything blocked the
  // event loop for seconds, long enough to lose a lease.
  test('compares each of many requests only a few times', () => {
    let looks = 0;
    const many = Array.from({ length: 20_000 }, (_, i) => ({
      namespace: 'm',
      get name() {
        looks++;
        return `x${i % 15_000}`;
      },
    }));
    const added: Request[] = [];
    const queue = {
      ...new RecordingHandlerQueue(),
      add: (each: Request) => void added.push(each),
    } as never;
    enqueueRequestsFromMapFunc(() => many).generic?.({ object: {} }, queue);
    expect(looks).toBeLessThan(10 * many.length);
    expect(added.map(({ name }) => name)).toEqual(
      Array.from({ length: 15_000 }, (_, i) => `x${i}`),
    );
  });

  // The promise of the old state was left unhandled when the function threw for the new state, and
  // its rejection ended the process. Later, the requests of one state were lost when the other
  // failed.
  test('adds the requests of one state if the other fails', async () => {
    const handler = enqueueRequestsFromMapFunc(({ metadata }: EventObject) => {
      if (metadata.name === 'throws') throw new Error('thrown');
      if (metadata.name === 'rejects') return Promise.reject(new Error('rejected'));
      return [{ namespace: '', name: metadata.name }];
    });
    const tell = async (old: string, now: string): Promise<unknown> => {
      const queue = new RecordingHandlerQueue();
      const event = {
        objectOld: eventObject(old),
        objectNew: eventObject(now),
        change: unknownChange,
      };
      const error = await (async () => handler.update?.(event, queue))().catch(
        ({ message }) => message,
      );
      return [error, ...queue.added.map(({ request }) => request)];
    };
    expect(await tell('rejects', 'throws')).toEqual(['thrown']);
    expect(await tell('throws', 'a')).toEqual(['thrown', '/a']);
    expect(await tell('a', 'throws')).toEqual(['thrown', '/a']);
    expect(await tell('rejects', 'a')).toEqual(['rejected', '/a']);
  });

  // The requests after the first invalid one were lost.
  test('adds all valid requests, and all that the queue accepts', () => {
    const found = [{ namespace: '', name: 'a' }, undefined, {}, null, { namespace: '', name: 'b' }];
    const queue = new RecordingHandlerQueue();
    const event = { object: {} };
    const rubbish = enqueueRequestsFromMapFunc(() => found as Request[]);
    expect(() => rubbish.generic?.(event, queue)).toThrow(
      '"map(object)" expected requests { namespace: string, name: string }, got undefined',
    );
    const full = {
      ...queue,
      add(request: Request) {
        if (request.name === 'a') throw new Error('full');
        RecordingHandlerQueue.prototype.add.call(queue, request);
      },
    } as never;
    const two = enqueueRequestsFromMapFunc(() => [found[0], found[4]] as Request[]);
    expect(() => two.generic?.(event, full)).toThrow('full');
    expect(queue.added.map(({ request }) => request)).toEqual(['/a', '/b', '/b']);
    for (const answer of [undefined, null, 5, {}])
      expect(() =>
        enqueueRequestsFromMapFunc(() => answer as never).generic?.(event, queue),
      ).toThrow(TypeError);
  });
});

describe('enqueueRequestForOwner', () => {
  const owner = { group: 'apps', kind: 'ReplicaSet', namespaced: true };
  const reference = (name: string, more: object = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name,
    ...more,
  });
  const owned = (...ownerReferences: NonNullable<EventObject['metadata']['ownerReferences']>) =>
    eventObject('child', { ownerReferences });
  const handler = on(enqueueRequestForOwner(owner));
  const controllers = on(enqueueRequestForOwner(owner, { onlyController: true }));

  test('adds the owner in the object’s namespace, for every kind of event', () => {
    for (const kind of ['create', 'delete', 'generic'] as const)
      expect(handler[kind](owned(reference('a')))).toEqual(['n/a']);
  });

  test('adds the owners before and after an update, each once', () => {
    expect(handler.update(owned(reference('a')), owned(reference('b')))).toEqual(['n/a', 'n/b']);
    expect(handler.update(owned(reference('a')), owned(reference('a')))).toEqual(['n/a']);
    const moved = eventObject('child', { namespace: 'n2', ownerReferences: [reference('b')] });
    expect(handler.update(owned(reference('a')), moved)).toEqual(['n/a', 'n2/b']);
  });

  test('adds no owner of another group or kind, and owners of any version', () => {
    expect(handler.create(owned(reference('a', { kind: 'Deployment' })))).toEqual([]);
    expect(handler.create(owned(reference('a', { apiVersion: 'extensions/v1' })))).toEqual([]);
    expect(handler.create(owned(reference('a', { apiVersion: 'v1' })))).toEqual([]);
    expect(handler.create(owned(reference('a', { apiVersion: 'apps/v2' })))).toEqual(['n/a']);
    expect(handler.create(owned())).toEqual([]);
    expect(handler.create(eventObject('orphan'))).toEqual([]);
  });

  test('stops at a version that is not among the given ones', () => {
    const strict = on(enqueueRequestForOwner(owner, { versions: ['v1', 'v1beta1'] }));
    const references = [reference('a'), reference('b', { apiVersion: 'apps/v9' }), reference('c')];
    expect(strict.create(owned(...references))).toEqual(['n/a']);
    expect(reported).toMatchObject([{ error: { message: expect.stringContaining('"apps/v9"') } }]);
    expect(handler.create(owned(...references))).toEqual(['n/a', 'n/b', 'n/c']);
  });

  test('adds a cluster-scoped owner without a namespace', () => {
    const node = on(enqueueRequestForOwner({ group: '', kind: 'Node', namespaced: false }));
    expect(node.create(owned({ apiVersion: 'v1', kind: 'Node', name: 'one' }))).toEqual(['/one']);
  });

  test('adds all owners of the kind, or only the first with controller: true', () => {
    const all = owned(
      reference('a'),
      reference('b', { controller: true }),
      reference('c', { controller: true }),
    );
    expect(handler.create(all)).toEqual(['n/a', 'n/b', 'n/c']);
    expect(controllers.create(all)).toEqual(['n/b']);
    expect(
      controllers.create(owned(reference('a'), reference('c', { controller: false }))),
    ).toEqual([]);
    expect(controllers.create(owned())).toEqual([]);
  });

  test('adds no owner after a controller of another kind', () => {
    const other = reference('x', { kind: 'Job', controller: true });
    expect(controllers.create(owned(other, reference('b', { controller: true })))).toEqual([]);
  });

  test('stops at an apiVersion that cannot be parsed, and reports it', () => {
    expect(
      handler.create(
        owned(reference('a'), reference('b', { apiVersion: 'a/b/c' }), reference('c')),
      ),
    ).toEqual(['n/a']);
    expect(reported).toMatchObject([{ error: invalid, what: 'handler enqueueRequestForOwner' }]);
  });

  test('does nothing for a missing object, and refuses a missing owner', () => {
    const nothing = undefined as unknown as object;
    expect([
      handler.create(nothing),
      handler.delete(nothing),
      handler.update(nothing, nothing),
    ]).toEqual([[], [], []]);
    expect(() => enqueueRequestForOwner(undefined as unknown as typeof owner)).toThrow(invalid);
    expect(() =>
      enqueueRequestForOwner(owner, { onlyController: 1 as unknown as boolean }),
    ).toThrow(invalid);
    expect(() => enqueueRequestForOwner(owner, { versions: 'v1' as unknown as string[] })).toThrow(
      invalid,
    );
  });
});

describe('handlerFuncs', () => {
  test.each(['create', 'update', 'delete', 'generic'] as const)(
    'calls its function for %s events alone',
    (kind) => {
      const called: string[] = [];
      const handler = handlerFuncs<EventObject>({ [kind]: () => void called.push(kind) });
      const one = on(handler);
      one.create(eventObject('a'));
      one.update(eventObject('a'), eventObject('a'));
      one.delete(eventObject('a'));
      one.generic(eventObject('a'));
      expect(called).toEqual([kind]);
      const others = (['create', 'update', 'delete', 'generic'] as const).filter(
        (other) => other !== kind,
      );
      expect(others.map((other) => handler[other])).toEqual([undefined, undefined, undefined]);
    },
  );

  test('refuses a value that is not a function', () => {
    expect(() => handlerFuncs({ create: 'x' } as unknown as EventHandler)).toThrow(invalid);
    expect(() => handlerFuncs(null as unknown as EventHandler)).toThrow(invalid);
  });
});

const me: Request = { namespace: 'n', name: 'a' };
const self = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'a' }];
type Way = [
  name: string,
  handler: EventHandler<EventObject>,
  how: { after?: number; rateLimited?: boolean },
];

const queueOptions = () => ({ key: requestKey, clock: new FakeClock() });
/** A queue like client-go's, which treats all ways of adding alike. */
const withoutPriorities = () =>
  Object.assign(new RateLimitingQueue<Request>(undefined, queueOptions()), {
    addWithOpts(this: RateLimitingQueue<Request>, _: object, ...requests: Request[]) {
      for (const request of requests) this.add(request);
    },
  });

describe.each<Way>([
  ['enqueueRequestForObject', enqueueRequestForObject(), {}],
  [
    'enqueueRequestForOwner',
    enqueueRequestForOwner({ group: 'apps', kind: 'ReplicaSet', namespaced: true }),
    {},
  ],
  ['enqueueRequestsFromMapFunc', enqueueRequestsFromMapFunc(() => [me]), {}],
  ['handlerFuncs', handlerFuncs({ create: (_, q) => q.add(me), update: (_, q) => q.add(me) }), {}],
  [
    'withLowPriorityWhenUnchanged and addAfter',
    withLowPriorityWhenUnchanged({
      create: (_, q) => q.addAfter(me, 9),
      update: (_, q) => q.addAfter(me, 9),
    }),
    { after: 9 },
  ],
  [
    'withLowPriorityWhenUnchanged and addRateLimited',
    withLowPriorityWhenUnchanged({
      create: (_, q) => q.addRateLimited(me),
      update: (_, q) => q.addRateLimited(me),
    }),
    { rateLimited: true },
  ],
])('the priority of what %s adds', (_, handler, how) => {
  const object = (resourceVersion?: string) =>
    eventObject('a', { resourceVersion, ownerReferences: self });
  const create = (isInInitialList: boolean) => {
    const queue = new RecordingHandlerQueue();
    handler.create?.({ object: object(), isInInitialList }, queue);
    return queue.added;
  };
  const update = (old: string | undefined, now: string | undefined) => {
    const queue = new RecordingHandlerQueue();
    handler.update?.(
      { objectOld: object(old), objectNew: object(now), change: unknownChange },
      queue,
    );
    return queue.added;
  };
  const low = [{ request: 'n/a', ...how, priority: LowPriority }];
  const normal = [{ request: 'n/a', ...how }];

  test('is low for an object of the initial list', () => expect(create(true)).toEqual(low));
  test('is normal for an object that is new', () => expect(create(false)).toEqual(normal));
  test('is low for an update that has the same version', () => {
    expect(update('1', '1')).toEqual(low);
    expect(update(undefined, '')).toEqual(low);
  });
  test('is normal for an update that has another version', () =>
    expect(update('1', '2')).toEqual(normal));

  test('has no effect in a queue without priorities, which gets it too', () => {
    const events: ((queue: HandlerQueue) => unknown)[] = [
      (queue) => handler.create?.({ object: object(), isInInitialList: true }, queue),
      (queue) =>
        handler.update?.(
          { objectOld: object('1'), objectNew: object('1'), change: unknownChange },
          queue,
        ),
    ];
    for (const tell of events) {
      const queue = withoutPriorities();
      tell(queue);
      expect([queue.tryGet(), queue.tryGet()]).toEqual([me, undefined]);
      queue.dispose();
    }
  });
});

test('a priority that a handler sets is kept', () => {
  const handler = withLowPriorityWhenUnchanged<EventObject>({
    create: (_, queue) => queue.addWithOpts({ priority: 7 }, me, me),
    update: (_, queue) => queue.addWithOpts({ priority: 0, after: 1 }, me),
  });
  const queue = new RecordingHandlerQueue();
  handler.create?.({ object: eventObject('a'), isInInitialList: true }, queue);
  handler.update?.(
    { objectOld: eventObject('a'), objectNew: eventObject('a'), change: unknownChange },
    queue,
  );
  expect(queue.added.map(({ priority }) => priority)).toEqual([7, 7, 0]);
});

test('handlers can add to all queues of this package', () => {
  const queues = [new PriorityQueue<Request>(undefined, queueOptions()), withoutPriorities()];
  for (const queue of queues) {
    enqueueRequestForObject().create?.({ object: eventObject('a'), isInInitialList: true }, queue);
    expect(queue.tryGet()).toEqual(me);
    queue.dispose();
  }
});

test('wrapping a handler twice is wrapping it once', () => {
  const handler = enqueueRequestForObject();
  expect(withLowPriorityWhenUnchanged(handler)).toBe(handler);
});
