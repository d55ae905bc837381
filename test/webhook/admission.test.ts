/**
 * The responses for what handlers of webhooks do: patches, denials, warnings, errors, timeouts.
 * Nothing is sent; time is virtual.
 */
import { AdmissionDenied, type AdmissionRequest } from 'capstan/webhook';
import { FakeClock } from 'capstan/workqueue';
import fc from 'fast-check';
import type { Operation } from 'rfc6902';
import { describe, expect, test } from 'vitest';
import { type AdmissionHandlers, respond } from '../../bindings/webhook/admission.ts';
import { loadDiff } from '../../bindings/webhook/json-patch.ts';
import { decodeReview, encodeReview } from '../../bindings/webhook/review.ts';
import { testSeed } from '../helpers/random.ts';
import { bytesOf, reviewOf, Website, website } from './webhooks.ts';

const diff = await loadDiff();
const seed = testSeed();
console.log(`test/webhook/admission.test.ts: CAPSTAN_SEED=${seed}`);
const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code;

interface Given {
  readonly review?: Record<string, unknown>;
  readonly clock?: FakeClock;
  readonly hungUp?: AbortSignal;
  readonly errors?: unknown[];
}

const answerOf = (
  handlers: Pick<AdmissionHandlers, 'defaulter' | 'validator'>,
  { review = {}, clock = new FakeClock(), hungUp, errors = [] }: Given = {},
) =>
  respond(
    decodeReview(bytesOf(reviewOf(review))),
    { resource: Website, subResource: '', ...handlers },
    {
      clock,
      timeout: 10_000,
      hungUp: hungUp ?? new AbortController().signal,
      onError: (error) => errors.push(error),
    },
  );

const update = {
  operation: 'UPDATE',
  object: website({ host: 'b.example' }),
  oldObject: website({ host: 'a.example' }),
};
const remove = { operation: 'DELETE', object: null, oldObject: website({ host: 'a.example' }) };

describe('a defaulter', () => {
  const patchOf = async (defaulter: (site: Website) => unknown, review?: Given['review']) =>
    (
      await answerOf(
        { defaulter: defaulter as AdmissionHandlers['defaulter'] },
        review === undefined ? {} : { review },
      )
    ).patch;

  test('changes a copy, and the answer is a JSON Patch', async () => {
    expect(
      await patchOf((site) => {
        site.spec.replicas = 2;
        site.spec.host = 'www.a.example';
      }),
    ).toEqual([
      { op: 'add', path: '/spec/replicas', value: 2 },
      { op: 'replace', path: '/spec/host', value: 'www.a.example' },
    ]);
  });

  test('may return another object', async () => {
    expect(await patchOf((site) => ({ ...site, spec: { host: 'c' } }))).toEqual([
      { op: 'replace', path: '/spec/host', value: 'c' },
    ]);
  });

  test('that changes nothing has an empty patch; undefined members count as absent', async () => {
    expect(await patchOf(() => undefined)).toEqual([]);
    expect(await patchOf((site) => ({ ...site, status: undefined }))).toEqual([]);
  });

  test('that returns no object is an internal error', async () => {
    const errors: unknown[] = [];
    const answer = await answerOf({ defaulter: (() => 'done') as never }, { errors });
    expect(answer).toMatchObject({
      allowed: false,
      status: { code: 500, message: expect.stringContaining('an object or nothing, got "done"') },
    });
    expect(errors.map(codeOf)).toEqual(['INVALID_ARGUMENT']);
  });

  test('gets the old object too, and changes of that have no effect', async () => {
    const seen: unknown[] = [];
    await answerOf(
      {
        defaulter: (_, request) => {
          seen.push((request.oldObject as Website).spec.host);
        },
      },
      { review: update },
    );
    expect(seen).toEqual(['a.example']);
  });

  test('is not called for a deletion', async () => {
    const answer = await answerOf(
      { defaulter: () => Promise.reject(new Error('asked')) },
      { review: remove },
    );
    expect(answer).toEqual({ allowed: true, patch: undefined, warnings: [] });
  });

  test('may deny', async () => {
    const answer = await answerOf({
      defaulter: () => {
        throw new AdmissionDenied('no');
      },
    });
    expect(answer).toMatchObject({ allowed: false, status: { code: 403, message: 'no' } });
  });

  test('keeps integers that JavaScript rounds, and does not patch them', async () => {
    const text = JSON.stringify(reviewOf({ object: { spec: { id: 0, host: 'a' } } })).replace(
      '"id":0',
      '"id":9007199254740993',
    );
    const answer = await respond(
      decodeReview(Buffer.from(text)),
      {
        resource: Website,
        subResource: '',
        defaulter: (site) => {
          (site as Website).spec.host = 'b';
        },
      },
      {
        clock: new FakeClock(),
        timeout: 1,
        hungUp: new AbortController().signal,
        onError: () => undefined,
      },
    );
    expect(answer.patch).toEqual([{ op: 'replace', path: '/spec/host', value: 'b' }]);
  });
});

describe('a patch, at random,', () => {
  const json = fc.jsonValue({ maxDepth: 4, noUnicodeString: false });
  const object = fc.dictionary(
    fc.oneof(fc.constantFrom('a', 'b', '~', '/', '~1', '', '0', '-', '__proto__'), fc.string()),
    json,
  );

  test('turns one object into the other', () => {
    fc.assert(
      fc.property(object, object, (before, after) => {
        const [one, other] = [before, after].map((each) => JSON.parse(JSON.stringify(each)));
        const patch = JSON.parse(JSON.stringify(diff(one, other))) as Operation[];
        const holder = { root: JSON.parse(JSON.stringify(one)) };
        for (const operation of patch) apply(holder, operation);
        expect(JSON.stringify(sorted(holder.root))).toBe(JSON.stringify(sorted(other)));
      }),
      { seed, numRuns: 3000 },
    );
  });

  test('is empty for the same object', () => {
    fc.assert(
      fc.property(object, (before) => {
        expect(diff(before, structuredClone(before))).toEqual([]);
      }),
      { seed, numRuns: 500 },
    );
  });

  // The library's comparison of lists takes time in the product of their lengths, at each level.
  test('of long lists in lists takes time that grows with their length', () => {
    const list = (n: number, of: () => unknown): unknown[] => Array.from({ length: n }, of);
    const deep = (): unknown[] => list(60, () => list(60, () => list(60, () => 1)));
    const [before, after] = [{ deep: deep() }, { deep: deep() }];
    (after.deep as number[][][])[59]?.[59]?.push(2);
    expect(diff(before, after)).toEqual([{ op: 'add', path: '/deep/59/59/-', value: 2 }]);
  });
});

/**
 * A handler that does a random thing: throws, denies, warns, changes its object, returns any value.
 */
test('random reviews with random handlers get an answer with their uid', async () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  const object = fc.dictionary(fc.string(), json);
  const members = fc.record(
    {
      uid: fc.string({ minLength: 1 }),
      operation: fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT'),
      object: fc.option(object),
      oldObject: fc.option(object),
      name: fc.string(),
      dryRun: fc.boolean(),
    },
    { requiredKeys: ['uid'] },
  );
  const act = fc.oneof(
    fc.anything().map((thrown) => () => {
      throw thrown;
    }),
    fc.string({ minLength: 1 }).map((message) => () => {
      throw new AdmissionDenied(message);
    }),
    fc.anything().map((returned) => () => returned),
    fc.anything().map((value) => async (given: Record<string, unknown>) => {
      given.changed = value;
    }),
    fc.anything().map((text) => (...all: unknown[]) => {
      (all.at(-1) as AdmissionRequest<object>).warn(text as string);
    }),
  );
  const seen = { allowed: 0, denied: 0, patched: 0 };
  await fc.assert(
    fc.asyncProperty(members, act, fc.boolean(), async (changed, run, isDefaulter) => {
      const handler = run as never;
      const answer = await answerOf(
        isDefaulter
          ? { defaulter: handler }
          : {
              validator: {
                validateCreate: handler,
                validateUpdate: handler,
                validateDelete: handler,
                validateConnect: handler,
              },
            },
        { review: changed },
      );
      const { response } = JSON.parse(encodeReview(changed.uid, answer));
      expect(response.uid).toBe(changed.uid);
      expect(typeof response.allowed).toBe('boolean');
      seen[response.allowed ? 'allowed' : 'denied']++;
      if (!response.allowed) {
        expect(response.patch).toBe(undefined);
        expect(response.status).toMatchObject({ status: 'Failure', message: expect.any(String) });
        expect([400, 403, 500]).toContain(response.status.code);
      } else if (response.patch !== undefined) {
        seen.patched++;
        const patch = JSON.parse(Buffer.from(response.patch, 'base64').toString());
        expect(patch.length).toBeGreaterThan(0);
      }
    }),
    { seed, numRuns: 2000 },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
});

/** Applies the operations that our patches have. Members may have any name. */
function apply(holder: { root: unknown }, { op, path, ...rest }: Operation): void {
  const names = path.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = names.pop() as string;
  let at: unknown = holder;
  for (const name of ['root', ...names.slice(1)])
    at = Object.getOwnPropertyDescriptor(at, name)?.value;
  if (Array.isArray(at) && op === 'add') at.push((rest as { value: unknown }).value);
  else if (Array.isArray(at) && op === 'remove') at.splice(Number(last), 1);
  else if (op === 'remove') delete (at as Record<string, unknown>)[last];
  else {
    expect(Object.hasOwn(at as object, last)).toBe(op === 'replace');
    const { value } = rest as { value: unknown };
    const flags = { enumerable: true, configurable: true, writable: true };
    Object.defineProperty(at, last, { value, ...flags });
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}

describe('a validator', () => {
  test('gets the objects of each operation', async () => {
    const calls: unknown[] = [];
    const validator = {
      validateCreate: (site: object) => void calls.push(['create', (site as Website).spec.host]),
      validateUpdate: (old: object, now: object) =>
        void calls.push(['update', (old as Website).spec.host, (now as Website).spec.host]),
      validateDelete: (site: object) => void calls.push(['delete', (site as Website).spec.host]),
      validateConnect: (site: object) => void calls.push(['connect', (site as Website).spec.host]),
    };
    for (const review of [{}, update, remove, { operation: 'CONNECT' }])
      expect(await answerOf({ validator }, { review })).toEqual({
        allowed: true,
        patch: undefined,
        warnings: [],
      });
    expect(calls).toEqual([
      ['create', 'a.example'],
      ['update', 'a.example', 'b.example'],
      ['delete', 'a.example'],
      ['connect', 'a.example'],
    ]);
  });

  test('without a method for an operation allows it', async () => {
    const validator = { validateDelete: () => Promise.reject(new Error('asked')) };
    expect(await answerOf({ validator })).toMatchObject({ allowed: true });
  });

  test('gets the user, the operation and the options of the request', async () => {
    let seen: AdmissionRequest<object> | undefined;
    await answerOf(
      {
        validator: {
          validateCreate: (_, request) => {
            seen = request;
          },
        },
      },
      { review: { dryRun: true } },
    );
    expect(seen).toMatchObject({
      uid: 'a-uid',
      operation: 'CREATE',
      namespace: 'default',
      name: 'web',
      subResource: '',
      dryRun: true,
      userInfo: { username: 'jane', groups: ['system:authenticated'] },
      options: { kind: 'CreateOptions' },
      oldObject: undefined,
    });
  });

  test('denies by AdmissionDenied, with 403, message and causes, and its warnings', async () => {
    const errors: unknown[] = [];
    const answer = await answerOf(
      {
        validator: {
          validateCreate: (_, request) => {
            request.warn('deprecated');
            throw new AdmissionDenied('the host is taken', {
              causes: [{ field: 'spec.host', message: 'used', reason: 'FieldValueDuplicate' }],
            });
          },
        },
      },
      { errors },
    );
    expect(answer).toEqual({
      allowed: false,
      warnings: ['deprecated'],
      status: {
        code: 403,
        reason: 'Forbidden',
        message: 'the host is taken',
        details: {
          causes: [{ field: 'spec.host', message: 'used', reason: 'FieldValueDuplicate' }],
        },
      },
    });
    expect(errors).toEqual([]);
  });

  test('that throws anything else is an internal error, which is reported', async () => {
    for (const thrown of [new TypeError('a bug'), 'a text', undefined, null]) {
      const errors: unknown[] = [];
      const answer = await answerOf(
        { validator: { validateCreate: () => Promise.reject(thrown) } },
        { errors },
      );
      expect(answer).toMatchObject({
        allowed: false,
        status: { code: 500, reason: 'InternalError' },
      });
      expect(errors).toEqual([thrown]);
    }
  });

  test('that warns with another value than a text is an internal error', async () => {
    const answer = await answerOf({
      validator: { validateCreate: (_, request) => request.warn(7 as never) },
    });
    expect(answer).toMatchObject({ status: { code: 500 } });
  });
});

describe('the signal of a request', () => {
  test('fires after the timeout, and the answer says so although the handler goes on', async () => {
    const clock = new FakeClock();
    const signals: AbortSignal[] = [];
    const errors: unknown[] = [];
    const answer = answerOf(
      {
        validator: {
          validateCreate: (_, { signal }) => {
            signals.push(signal);
            return new Promise(() => undefined);
          },
        },
      },
      { clock, errors },
    );
    await clock.run(9999);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await clock.run(1);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(codeOf(signals[0]?.reason)).toBe('TIMEOUT');
    expect(await answer).toMatchObject({
      allowed: false,
      status: {
        code: 504,
        reason: 'Timeout',
        message: 'the webhook has not answered within 10000 ms',
      },
    });
    expect(errors.map(codeOf)).toEqual(['TIMEOUT']);
  });

  test('fires when the caller hangs up', async () => {
    const caller = new AbortController();
    const answer = answerOf(
      {
        validator: {
          validateCreate: (_, { signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(new Error('ended')));
            }),
        },
      },
      { hungUp: caller.signal },
    );
    caller.abort();
    expect(await answer).toMatchObject({ allowed: false, status: { code: 500 } });
  });

  test('leaves no timer behind', async () => {
    const clock = new FakeClock();
    await answerOf({ validator: { validateCreate: () => undefined } }, { clock });
    expect(clock.timers()).toBe(0);
  });
});

test('a review that belongs to another webhook is refused in the response', async () => {
  const resource = { group: 'apps', version: 'v1', resource: 'deployments' };
  for (const [review, message] of [
    [{ resource }, 'this webhook reviews example.com/v1/websites, got apps/v1/deployments'],
    [{ subResource: 'scale' }, 'got example.com/v1/websites/scale'],
    [{ object: null }, 'CREATE without an object'],
    [{ ...remove, oldObject: null }, 'DELETE without an oldObject'],
    [{ ...update, oldObject: null }, 'UPDATE without an oldObject'],
  ] as const) {
    const validator = { validateCreate: () => Promise.reject(new Error('asked')) };
    expect(await answerOf({ validator }, { review })).toMatchObject({
      allowed: false,
      status: { code: 400, reason: 'BadRequest', message: expect.stringContaining(message) },
    });
  }
});

test('AdmissionDenied checks its arguments', () => {
  for (const options of [{ code: 200 }, { code: 500 }, { reason: 7 }, { cause: 'x' }])
    expect(() => new AdmissionDenied('no', options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  const denied = new AdmissionDenied('no', { code: 422, reason: 'Invalid' });
  expect(denied).toMatchObject({ code: 'ADMISSION_DENIED', status: 422, name: 'AdmissionDenied' });
});
