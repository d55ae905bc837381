/**
 * Expressions in CEL as a real kube-apiserver 1.36.3 judges them. A policy with a typing error was
 * installed here without a word, and in a cluster refused.
 */
import { expect, test } from 'vitest';
import { startApi } from '../helpers/server/requests.ts';

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const policy = (spec: object): object => ({
  metadata: { name: 'a' },
  spec: {
    matchConstraints: {
      resourceRules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
      ],
    },
    validations: [{ expression: 'true' }],
    ...spec,
  },
});

test.for<[what: string, spec: object, field: string | undefined]>([
  [
    'variables that come before it',
    {
      variables: [{ name: 'size', expression: 'size(object.metadata.name)' }],
      validations: [{ expression: 'variables.size < 9', messageExpression: "'too long'" }],
    },
    undefined,
  ],
  [
    'a variable that there is not',
    {
      variables: [{ name: 'size', expression: '1' }],
      validations: [{ expression: 'variables.other < 9' }],
    },
    'spec.validations[0].expression',
  ],
  [
    'no parameters',
    { validations: [{ expression: 'params.x' }] },
    'spec.validations[0].expression',
  ],
  [
    'a message that is no text',
    { validations: [{ expression: 'true', messageExpression: 'object.x' }] },
    'spec.validations[0].messageExpression',
  ],
  [
    'a condition that is a number',
    { matchConditions: [{ name: 'x', expression: '1 + 1' }] },
    'spec.matchConditions[0].expression',
  ],
  [
    'an annotation of any type',
    { auditAnnotations: [{ key: 'x', valueExpression: 'object.x' }] },
    'spec.auditAnnotations[0].valueExpression',
  ],
])('a policy with %s', async ([, spec, field]) => {
  const { api } = await startApi();
  const { status, body } = await api.send('POST', POLICIES, { body: policy(spec) });
  expect(status).toBe(field === undefined ? 201 : 422);
  expect(body.details?.causes?.map((cause) => cause.field)).toEqual(field && [field]);
});

test('a device is selected by its attributes', async () => {
  const { api } = await startApi();
  const make = (expression: string) =>
    api.send('POST', '/apis/resource.k8s.io/v1/deviceclasses', {
      body: { metadata: { name: 'a' }, spec: { selectors: [{ cel: { expression } }] } },
    });
  expect((await make('device.nothing == 1')).status).toBe(422);
  expect((await make("device.driver == 'gpu.example'")).status).toBe(201);
});
