/**
 * Story: the embedded server kept `1000m` as it was sent, so that a controller that set it at each
 * reconcile was quiet in tests, and wrote at each reconcile on a real server.
 */
import { expect, test } from 'vitest';
import { canonicalQuantity } from '../../bindings/testing/server/schema/quantity.ts';
import { live } from '../helpers/client/clients.ts';

// as kube-apiserver 1.36 wrote them
test.each([
  ['1000m', '1'],
  ['1500m', '1500m'],
  ['0.5', '500m'],
  ['.5', '500m'],
  ['1.0', '1'],
  ['1.', '1.'],
  ['+1', '+1'],
  ['+1000m', '1'],
  ['1000', '1k'],
  ['1024Mi', '1Gi'],
  ['1.5Gi', '1536Mi'],
  ['512', '512'],
  ['0.1Ki', '102400m'],
  ['100000', '100k'],
  ['1e3', '1e3'],
  ['12e-3', '12e-3'],
  ['0.1n', '1n'],
  ['-2000m', '-2'],
  ['0Gi', '0'],
  ['', undefined],
  ['1 Gi', undefined],
])('%s is %s', (text, canonical) => {
  expect(canonicalQuantity(text)).toBe(canonical);
});

test('a server stores quantities in that form, and refuses what is none', async () => {
  const { transport } = await live();
  const pod = (cpu: unknown) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'main', image: 'a', resources: { limits: { cpu } } }] },
  });
  const create = async (cpu: unknown) => {
    const { status, body } = await transport.request({
      method: 'POST',
      path: '/api/v1/namespaces/default/pods',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(pod(cpu)),
    });
    let text = '';
    for await (const chunk of body) text += new TextDecoder().decode(chunk);
    return { status, answer: JSON.parse(text) };
  };
  expect((await create('much')).status).toBe(400);
  const { answer } = await create(2);
  expect(answer.spec.containers[0].resources.limits).toEqual({ cpu: '2' });
});
