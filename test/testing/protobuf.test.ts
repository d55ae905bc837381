/**
 * Bodies in protobuf, which client-go's typed clients send: read as the JSON that they would be.
 * The bytes that Go itself writes are compared in test/clients/protobuf.test.ts.
 */
import { describe, expect, test } from 'vitest';
import { jsonOfProtobuf } from '../../bindings/testing/server/protobuf/objects.ts';
import { CONFIG_MAPS, startApi, WIDGETS, widgetBody } from '../helpers/server/requests.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';

type Value = string | number | bigint | Buffer;

function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

/** A message of these fields: integers as varints, all else by its length. */
function message(...fields: [number: number, value: Value][]): Buffer {
  const parts = fields.flatMap(([number, value]) => {
    if (typeof value === 'number' || typeof value === 'bigint')
      return [varint(number * 8), varint(value)];
    const bytes = Buffer.from(value);
    return [varint(number * 8 + 2), varint(bytes.length), bytes];
  });
  return Buffer.concat(parts);
}

const PREFIX = Buffer.from('k8s\0');

const object = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  Buffer.concat([PREFIX, message([1, message([1, apiVersion], [2, kind])], [2, raw])]);

const read = (bytes: Buffer): unknown => JSON.parse(jsonOfProtobuf(bytes));

const container = message(
  [1, 'c'],
  [2, 'nginx'],
  [3, 'sleep'],
  [4, ''],
  [6, message([1, 'http'], [3, 80])],
  // The name of the Secret stands in a struct of its own, which JSON does not show.
  [7, message([1, 'S'], [3, message([4, message([1, message([1, 's'])], [2, 'k'], [3, 0])])])],
  [8, message([1, message([1, 'cpu'], [2, message([1, '500m'])])])],
);
const pod = (...more: [number, Value][]): Buffer =>
  object(
    'v1',
    'Pod',
    message(
      [1, message([1, 'p'], [11, message([1, 'app'], [2, 'x'])])],
      [2, message([2, container], ...more)],
    ),
  );

describe('an object', () => {
  test('has lists, maps, quantities and embedded structs', () => {
    expect(read(pod())).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', labels: { app: 'x' } },
      spec: {
        containers: [
          {
            name: 'c',
            image: 'nginx',
            command: ['sleep'],
            args: [''],
            ports: [{ name: 'http', containerPort: 80 }],
            env: [
              { name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: false } } },
            ],
            resources: { limits: { cpu: '500m' } },
          },
        ],
      },
    });
  });

  test('has integers as they are, also packed and beyond what JavaScript rounds', () => {
    const groups = [1, 2, 300].map(varint);
    const context = message([2, -1], [4, Buffer.concat(groups)]);
    expect(jsonOfProtobuf(pod([4, 9007199254740993n], [14, context]))).toContain(
      '"terminationGracePeriodSeconds":9007199254740993',
    );
    expect(read(pod([14, context]))).toMatchObject({
      spec: { securityContext: { runAsUser: -1, supplementalGroups: [1, 2, 300] } },
    });
  });

  test('has times, and null for the zero time', () => {
    const lease = (renew: Buffer): unknown =>
      read(object('coordination.k8s.io/v1', 'Lease', message([2, message([4, renew])])));
    expect(lease(message([1, 1_700_000_000], [2, 1_500_000]))).toMatchObject({
      spec: { renewTime: '2023-11-14T22:13:20.001500Z' },
    });
    expect(lease(message())).toMatchObject({ spec: { renewTime: null } });
  });

  test('has ports by number or name, bytes in base64 and JSON within', () => {
    const port = (...fields: [number, Value][]): unknown =>
      read(
        object(
          'v1',
          'Service',
          message([2, message([1, message([3, 80], [4, message(...fields)])])]),
        ),
      );
    expect(port([1, 0], [2, 8080])).toMatchObject({ spec: { ports: [{ targetPort: 8080 }] } });
    expect(port([1, 1], [3, 'web'])).toMatchObject({ spec: { ports: [{ targetPort: 'web' }] } });
    const secret = object(
      'v1',
      'Secret',
      message([2, message([1, 'k'], [2, Buffer.from([0, 255])])]),
    );
    expect(read(secret)).toMatchObject({ data: { k: 'AP8=' } });
    const revision = message([2, message([1, '{"a":[1]}'])]);
    expect(read(object('apps/v1', 'ControllerRevision', revision))).toMatchObject({
      data: { a: [1] },
    });
  });

  test('has the fields that are known; later ones are passed over, as Go does', () => {
    expect(read(pod([900, 'later']))).toEqual(read(pod()));
  });

  test.for([
    ['nothing', Buffer.alloc(0), 'empty data'],
    ['JSON', Buffer.from('{}'), 'expected prefix [107 56 115 0]'],
    ['the prefix alone', PREFIX, 'empty body'],
    ['half of it', pod().subarray(0, 40), 'unexpected EOF'],
    ['a group', Buffer.concat([PREFIX, Buffer.from([0x0b])]), 'illegal wireType 3'],
    ['text for a number', object('v1', 'Pod', message([2, message([4, 'x'])])), 'wrong wireType'],
  ] as const)('is refused where it is %s', ([, bytes, why]) => {
    expect(() => jsonOfProtobuf(bytes)).toThrow(why);
  });
});

describe('the server', () => {
  const send = async (method: string, path: string, body: Buffer) => {
    const { api } = await startApi();
    await api.make(WIDGETS, widgetBody('w'));
    return api.send(method, path, { body, type: PROTOBUF });
  };

  test('stores objects sent as protobuf, and answers in JSON', async () => {
    const { status, body } = await send('POST', '/api/v1/namespaces/default/pods', pod());
    expect(status).toBe(201);
    expect(body.metadata.labels).toEqual({ app: 'x' });
    expect(body.spec).toMatchObject({ restartPolicy: 'Always' });
  });

  test('refuses invalid protobuf and other kinds with 400', async () => {
    const map = (bytes: Buffer) => send('POST', CONFIG_MAPS, bytes);
    expect((await map(Buffer.from('{}'))).body.message).toContain('expected prefix');
    expect(await map(pod())).toMatchObject({ status: 400 });
    expect(await map(object('v9', 'Nope', message([1, 'x'])))).toMatchObject({ status: 400 });
  });

  test('takes it for built-in kinds alone, but the options of deletions for all', async () => {
    const options = object('example.com/v1', 'DeleteOptions', message([2, message([1, 'nope'])]));
    expect((await send('POST', WIDGETS, pod())).status).toBe(415);
    expect((await send('DELETE', `${WIDGETS}/w`, options)).body.message).toContain(
      'UID in the precondition (nope)',
    );
  });
});
