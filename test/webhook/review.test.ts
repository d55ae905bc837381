/**
 * AdmissionReviews: what is decoded, what is refused and why, and that no body makes the decoder
 * throw anything but a refusal with a status.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BadReview,
  decodeReview,
  encodeReview,
  requireJsonType,
} from '../../bindings/webhook/review.ts';
import { testSeed } from '../helpers/random.ts';
import { bytesOf, reviewOf, website } from './webhooks.ts';

const seed = testSeed();
console.log(`test/webhook/review.test.ts: CAPSTAN_SEED=${seed}`);

const refusal = (run: () => unknown): BadReview => {
  try {
    run();
  } catch (error) {
    if (error instanceof BadReview) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('decoding', () => {
  test('gives the request of a review', () => {
    expect(decodeReview(bytesOf(reviewOf({ dryRun: true, subResource: 'scale' })))).toEqual({
      uid: 'a-uid',
      operation: 'CREATE',
      kind: { group: 'example.com', version: 'v1', kind: 'Website' },
      resource: { group: 'example.com', version: 'v1', resource: 'websites' },
      subResource: 'scale',
      namespace: 'default',
      name: 'web',
      dryRun: true,
      userInfo: { username: 'jane', uid: '1', groups: ['system:authenticated'] },
      options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
      object: website({ host: 'a.example' }),
      oldObject: undefined,
    });
  });

  test('fills in what the API server leaves out', () => {
    const least = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: { uid: 'a', operation: 'DELETE' },
    };
    expect(decodeReview(bytesOf(least))).toEqual({
      uid: 'a',
      operation: 'DELETE',
      kind: { group: '', version: '', kind: '' },
      resource: { group: '', version: '', resource: '' },
      subResource: '',
      namespace: '',
      name: '',
      dryRun: false,
      userInfo: {},
      options: undefined,
      object: undefined,
      oldObject: undefined,
    });
  });

  test.each<[string, Uint8Array, string]>([
    ['nothing', new Uint8Array(), 'body: expected an AdmissionReview, got nothing'],
    ['no JSON', Buffer.from('{"kind":'), 'body: expected JSON in UTF-8, got 8 bytes that are not'],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'expected JSON in UTF-8'],
    ['a list', Buffer.from('[]'), 'body: expected an AdmissionReview, got an array of 0'],
    ['another kind', bytesOf({ kind: 'Pod' }), 'kind: expected "AdmissionReview", got "Pod"'],
    [
      'another version',
      bytesOf({ ...reviewOf(), apiVersion: 'admission.k8s.io/v1beta1' }),
      'apiVersion: expected "admission.k8s.io/v1", got "admission.k8s.io/v1beta1"',
    ],
    [
      'a response alone',
      bytesOf({ ...reviewOf(), request: undefined }),
      'request: expected an object, got undefined',
    ],
    ['no uid', bytesOf(reviewOf({ uid: '' })), 'request.uid: expected a text, got ""'],
    [
      'an unknown operation',
      bytesOf(reviewOf({ operation: 'create' })),
      'request.operation: expected CREATE, UPDATE, DELETE or CONNECT, got "create"',
    ],
    [
      'a list as object',
      bytesOf(reviewOf({ object: [] })),
      'request.object: expected an object, got an array of 0',
    ],
    [
      'a dry run that is a text',
      bytesOf(reviewOf({ dryRun: 'yes' })),
      'request.dryRun: expected true or false, got "yes"',
    ],
    ['a number as name', bytesOf(reviewOf({ name: 7 })), 'request.name: expected a text, got 7'],
    [
      'a number in a resource',
      bytesOf(reviewOf({ resource: { group: 7 } })),
      'request.resource.group: expected a text, got 7',
    ],
  ])('refuses %s with 400', (_, body, message) => {
    const { status, message: text } = refusal(() => decodeReview(body));
    expect(status).toBe(400);
    expect(text).toContain(message);
  });

  test.each([undefined, '', 'text/plain', 'application/json5', 'application/yaml'])(
    'refuses the content type %s with 415',
    (contentType) => {
      expect(refusal(() => requireJsonType(contentType)).status).toBe(415);
    },
  );

  test('takes JSON with parameters', () => {
    requireJsonType('application/json');
    requireJsonType('Application/JSON; charset=utf-8');
  });

  // 2^53 + 1 is no JavaScript number: it came back as 2^53.
  test('keeps integers that JavaScript rounds', () => {
    const text = JSON.stringify(reviewOf({ object: { spec: { id: 0 } } })).replace(
      '"id":0',
      '"id":9007199254740993',
    );
    const { object } = decodeReview(Buffer.from(text));
    const patch = [{ op: 'add', path: '/spec', value: (object as { spec: object }).spec }];
    const answer = JSON.parse(encodeReview('a', { allowed: true, patch, warnings: [] }));
    expect(Buffer.from(answer.response.patch, 'base64').toString()).toContain(
      '{"id":9007199254740993}',
    );
  });
});

describe('decoding, at random,', () => {
  const parameters = { seed, numRuns: 2000 };
  const anyJson = fc.jsonValue({ maxDepth: 3 });

  test('refuses or decodes any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (body) => {
        expect(refusal(() => decodeReview(body)).status).toBe(400);
      }),
      parameters,
    );
  });

  test('refuses or decodes a review with any members', () => {
    const names = ['uid', 'operation', 'dryRun', 'kind', 'resource', 'object', 'options', 'name'];
    const members = fc.dictionary(fc.constantFrom(...names, 'userInfo', '__proto__'), anyJson);
    let decodedOnes = 0;
    fc.assert(
      fc.property(members, anyJson, fc.boolean(), (changed, whole, isWhole) => {
        const review = isWhole ? { ...reviewOf(), request: whole } : reviewOf(changed);
        try {
          const decoded = decodeReview(bytesOf(review));
          decodedOnes++;
          expect(typeof decoded.uid).toBe('string');
          expect(Array.isArray(decoded.object)).toBe(false);
        } catch (error) {
          expect((error as BadReview).status).toBe(400);
        }
      }),
      parameters,
    );
    expect(decodedOnes).toBeGreaterThan(0);
  });

  test('refuses or decodes a review whose bytes are damaged', () => {
    const body = bytesOf(reviewOf());
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(body.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        fc.nat(body.length),
        (changes, length) => {
          const damaged = body.slice(0, length);
          for (const [at, byte] of changes) if (at < length) damaged[at] = byte;
          try {
            expect(decodeReview(damaged).uid.length).toBeGreaterThan(0);
          } catch (error) {
            expect((error as BadReview).status).toBe(400);
          }
        },
      ),
      parameters,
    );
  });
});

describe('encoding', () => {
  test('echoes the uid, and says nothing that it need not', () => {
    expect(JSON.parse(encodeReview('a', { allowed: true, patch: [], warnings: [] }))).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'a', allowed: true },
    });
  });

  test('has the patch in base64, also outside of ASCII', () => {
    const patch = [{ op: 'add', path: '/a', value: 'ü€😀' }];
    const { response } = JSON.parse(encodeReview('a', { allowed: true, patch, warnings: [] }));
    expect(response.patchType).toBe('JSONPatch');
    expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toEqual(patch);
  });
});
