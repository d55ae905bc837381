/**
 * Finalizers: added to an object before its resources are created, removed after these are cleaned
 * up.
 */
import { defineResource, type Resource } from 'capstan/cache';
import {
  addFinalizer,
  type Client,
  containsFinalizer,
  FinalizeError,
  Finalizers,
  finalizer,
  newClient,
  type ObjectMeta,
  removeFinalizer,
} from 'capstan/client';
import { createController, generationChangedPredicate } from 'capstan/controller';
import { ApiServer } from 'capstan/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

interface Thing {
  metadata: ObjectMeta;
  status?: { phase: string };
}

const NAME = 'example.com/cleanup';
const deletionTimestamp = '2026-11-21T12:00:00Z';
const living = (...finalizers: string[]): Thing => ({
  metadata: { name: 'a', namespace: 'default', finalizers },
});
const deleted = (...finalizers: string[]): Thing => ({
  metadata: { name: 'a', namespace: 'default', finalizers, deletionTimestamp },
});
const names = (thing: Thing) => thing.metadata.finalizers;

describe('a finalizer', () => {
  it('is appended if it is missing', () => {
    expect(names(addFinalizer({ metadata: { name: 'a' } } as Thing, NAME))).toEqual([NAME]);
    expect(names(addFinalizer(living('other'), NAME))).toEqual(['other', NAME]);
  });

  it('that exists is not added again: the same object is returned', () => {
    const object = living(NAME);
    expect(addFinalizer(object, NAME)).toBe(object);
  });

  it('is removed, all occurrences of it', () => {
    expect(names(removeFinalizer(living(NAME), NAME))).toEqual([]);
    expect(names(removeFinalizer(living(NAME, 'other', NAME), NAME))).toEqual(['other']);
  });

  it('that is missing is not removed: the same object is returned', () => {
    const object = living('other');
    expect(removeFinalizer(object, NAME)).toBe(object);
  });

  it('is found', () => {
    const object = living(NAME);
    expect(containsFinalizer(object, NAME)).toBe(true);
    expect(containsFinalizer(removeFinalizer(object, NAME), NAME)).toBe(false);
    expect(containsFinalizer({}, NAME)).toBe(false);
  });

  it('leaves the given object unchanged', () => {
    const object = Object.freeze({
      metadata: Object.freeze({ finalizers: Object.freeze(['x']) as string[] }),
    });
    expect(addFinalizer(object, NAME).metadata.finalizers).toEqual(['x', NAME]);
    expect(removeFinalizer(object, 'x').metadata.finalizers).toEqual([]);
    expect(object.metadata.finalizers).toEqual(['x']);
  });

  it('requires a name', () => {
    expect(() => addFinalizer(living(), '')).toThrow(
      '"finalizer" expected a name such as "example.com/cleanup"',
    );
  });
});

describe('registered finalizers', () => {
  const registered = (...keys: string[]) => {
    const finalizers = new Finalizers<Thing>();
    const run = vi.fn();
    for (const key of keys) finalizers.register(key, run);
    return { finalizers, run };
  };

  it('have unique keys', () => {
    const { finalizers } = registered(NAME);
    finalizers.register('example.com/other', () => undefined);
    expect(() => finalizers.register(NAME, () => undefined)).toThrow(
      expect.objectContaining({ code: 'FINALIZER_EXISTS' }),
    );
  });

  it('are added to a live object, and not run', async () => {
    const { finalizers, run } = registered('a.example/1', 'a.example/2');
    const result = await finalizers.finalize(living());
    expect(result).toMatchObject({ updated: true, statusUpdated: false });
    expect(names(result.object)).toEqual(['a.example/1', 'a.example/2']);
    expect(run).not.toHaveBeenCalled();
  });

  it('change nothing on a live object that has them', async () => {
    const { finalizers } = registered(NAME);
    const object = living(NAME);
    const result = await finalizers.finalize(object);
    expect(result).toEqual({ object, updated: false, statusUpdated: false });
    expect(result.object).toBe(object);
  });

  it('run for an object that is being deleted, and are then removed', async () => {
    const { finalizers, run } = registered('a.example/1', 'a.example/2');
    const result = await finalizers.finalize(deleted('a.example/1', 'foreign', 'a.example/2'));
    expect(run).toHaveBeenCalledTimes(2);
    expect(result.updated).toBe(true);
    expect(names(result.object)).toEqual(['foreign']);
  });

  it('that are missing on an object that is being deleted are not run or added', async () => {
    const { finalizers, run } = registered(NAME);
    const object = deleted();
    expect(await finalizers.finalize(object)).toEqual({
      object,
      updated: false,
      statusUpdated: false,
    });
    expect(run).not.toHaveBeenCalled();
  });

  it('of an empty registry change no object', async () => {
    const { finalizers } = registered();
    for (const object of [living(), deleted(NAME)])
      expect(await finalizers.finalize(object)).toEqual({
        object,
        updated: false,
        statusUpdated: false,
      });
  });

  it('that fail stay on the object, and the error names them', async () => {
    const finalizers = new Finalizers<Thing>();
    const cause = new Error('the bucket is not empty');
    finalizers.register(NAME, async () => {
      throw cause;
    });
    const object = deleted(NAME);
    const error = await finalizers
      .finalize(object)
      .catch((thrown: unknown) => thrown as FinalizeError<Thing>);
    expect(error).toBeInstanceOf(FinalizeError);
    expect(error).toMatchObject({
      code: 'FINALIZE',
      cause,
      message: 'default/a could not be finalized by example.com/cleanup: the bucket is not empty',
      result: { updated: false, statusUpdated: false },
    });
    expect((error as FinalizeError<Thing>).result.object).toBe(object);
  });

  it('that fail do not stop the others, and may request a write', async () => {
    const finalizers = new Finalizers<Thing>();
    const keys = ['a.example/1', 'a.example/2', 'a.example/3'];
    finalizers.register('a.example/1', () => ({ updated: true }));
    finalizers.register('a.example/2', () => {
      throw new Error('second failed');
    });
    finalizers.register('a.example/3', (object) => ({
      object: { ...object, status: { phase: 'Stuck' } },
      statusUpdated: true,
      error: new Error('third failed'),
    }));
    const error = await finalizers
      .finalize(deleted(...keys))
      .catch((thrown: unknown) => thrown as FinalizeError<Thing>);
    const { errors, result, message } = error as FinalizeError<Thing>;
    expect([...errors.keys()]).toEqual(['a.example/2', 'a.example/3']);
    expect(message).toContain('a.example/2: second failed; a.example/3: third failed');
    expect(result).toMatchObject({
      updated: true,
      statusUpdated: true,
      object: { status: { phase: 'Stuck' } },
    });
    expect(names(result.object)).toEqual(['a.example/2', 'a.example/3']);
  });

  it('that fail without a change request no write', async () => {
    const finalizers = new Finalizers<Thing>();
    finalizers.register(NAME, () => ({ error: new Error('no') }));
    await expect(finalizers.finalize(deleted(NAME))).rejects.toMatchObject({
      result: { updated: false },
    });
  });

  it('get the signal', async () => {
    const { finalizers, run } = registered(NAME);
    const { signal } = new AbortController();
    await finalizers.finalize(deleted(NAME), { signal });
    expect(run.mock.calls[0]?.[1]).toEqual({ signal });
  });
});

describe('finalizer()', () => {
  const Things: Resource<Thing> = defineResource<Thing>()({
    group: 'example.com',
    version: 'v1',
    kind: 'Thing',
    plural: 'things',
    namespaced: true,
  });

  async function started() {
    const server = await ApiServer.start();
    const transport = server.transport();
    onTestFinished(async () => {
      await transport.close?.();
      await server.stop();
    });
    const client: Client = newClient({ transport });
    return {
      transport,
      client,
      create: (...finalizers: string[]) => client.create(Things, living(...finalizers)),
    };
  }
  const handlers = () => ({
    apply: vi.fn((_: Thing): string | Promise<string> => 'applied'),
    cleanup: vi.fn(() => 'cleaned'),
  });
  const key = { namespace: 'default', name: 'a' };

  it("writes the finalizer before apply, and passes the server's answer", async () => {
    const { client, create } = await started();
    const run = handlers();
    const object = await create();
    run.apply.mockImplementationOnce(async () => {
      expect(names(await client.get(Things, key))).toEqual([NAME]);
      return 'applied first';
    });
    expect(await finalizer(client, Things, NAME, object, run)).toBe('applied first');
    const written = await client.get(Things, key);
    expect(run.apply).toHaveBeenCalledExactlyOnceWith(written);
    expect(await finalizer(client, Things, NAME, written, run)).toBe('applied');
    expect(run.apply).toHaveBeenLastCalledWith(written);
  });

  // The write does not change the generation. When apply was left to the next reconcile, a
  // controller with generationChangedPredicate() wrote the finalizer and did nothing else.
  it('applies in a controller with generationChangedPredicate()', async () => {
    const { client, create, transport } = await started();
    const applied = Promise.withResolvers<Thing>();
    const controller = createController({
      transport,
      for: Things,
      predicates: [generationChangedPredicate()],
      reconcile: async (request, { get }) => {
        const object = get(request);
        if (object !== undefined)
          await finalizer(client, Things, NAME, object, {
            apply: applied.resolve,
            cleanup: () => undefined,
          });
        return {};
      },
    });
    const stop = new AbortController();
    const running = controller.run({ signal: stop.signal });
    await create();
    expect(names(await applied.promise)).toEqual([NAME]);
    stop.abort();
    await running;
  });

  it('appends its finalizer to those of others', async () => {
    const { client, create } = await started();
    await finalizer(client, Things, NAME, await create('other.example/x'), handlers());
    expect(names(await client.get(Things, key))).toEqual(['other.example/x', NAME]);
  });

  it('cleans up an object that is being deleted before it removes its finalizer', async () => {
    const { client, create } = await started();
    const run = handlers();
    await create(NAME);
    await client.delete(Things, key);
    const object = await client.get(Things, key);
    run.cleanup.mockImplementationOnce(() => {
      throw new Error('not yet');
    });
    await expect(finalizer(client, Things, NAME, object, run)).rejects.toThrow('not yet');
    expect(names(await client.get(Things, key))).toEqual([NAME]);
    expect(await finalizer(client, Things, NAME, object, run)).toBe('cleaned');
    await expect(client.get(Things, key)).rejects.toMatchObject({ status: 404 });
    expect(
      await finalizer(client, Things, NAME, object, run),
      'gone already, by a stale cache',
    ).toBe('cleaned');
  });

  it('ignores an object that is being deleted without its finalizer', async () => {
    const run = handlers();
    const patch = vi.fn();
    expect(await finalizer({ patch }, Things, NAME, deleted('other'), run)).toBeUndefined();
    expect(patch).not.toHaveBeenCalled();
    expect(run.cleanup).not.toHaveBeenCalled();
  });

  it.each([
    ['there was none', []],
    ['there were some', ['a.example/x']],
  ])('writes nothing if the finalizers have changed meanwhile, when %s', async (_, seen) => {
    const { client, create } = await started();
    const object = await create(...seen);
    await client.patch(Things, key, {
      type: 'merge',
      body: { metadata: { finalizers: ['other.example/x'] } },
    });
    await expect(finalizer(client, Things, NAME, object, handlers())).rejects.toMatchObject({
      status: 422,
    });
    expect(names(await client.get(Things, key))).toEqual(['other.example/x']);
  });

  // A cache may still have a deleted object when its successor has the same name: removing the
  // finalizer from the successor would skip its cleanup.
  it('removes its finalizer from the cleaned-up object, not from its successor', async () => {
    const { client, create } = await started();
    await create(NAME);
    await client.delete(Things, key);
    const stale = await client.get(Things, key);
    await client.patch(Things, key, { type: 'merge', body: { metadata: { finalizers: null } } });
    await create(NAME);
    await expect(finalizer(client, Things, NAME, stale, handlers())).rejects.toMatchObject({
      status: 422,
    });
    expect(names(await client.get(Things, key))).toEqual([NAME]);
  });
});
