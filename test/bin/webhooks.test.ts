/** `capstan webhooks`: what it prints for modules, and what it refuses. */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAllYaml } from '@kubernetes/client-node';
import { afterAll, expect, test } from 'vitest';
import { main } from '../../bin/cli.ts';
import { root } from '../helpers/repository.ts';

const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-webhooks-')));
afterAll(() => rmSync(place, { recursive: true, force: true }));

function moduleAt(name: string, text: string): string {
  const path = join(place, name);
  const imports = ['cache', 'webhook'].map((entry) => `${root}/bindings/${entry}/index.ts`);
  writeFileSync(
    path,
    `import { defineResource } from '${imports[0]}';
import { newWebhookManagedBy } from '${imports[1]}';
const resource = (kind) => defineResource()({ group: 'example.com', version: 'v1', kind,
  plural: kind.toLowerCase() + 's', namespaced: true });
${text}`,
  );
  return path;
}

const site = moduleAt(
  'site.mjs',
  `export function setupWebhooks(manager) {
  newWebhookManagedBy(manager).for(resource('Website'))
    .withDefaulter(() => undefined)
    .withValidator({ validateCreate() {}, validateDelete() {} }, { failurePolicy: 'Ignore' })
    .complete();
}`,
);
const other = moduleAt(
  'other.mjs',
  `export const setupWebhooks = (manager) => newWebhookManagedBy(manager).for(resource('Page'))
    .withValidator({ validateUpdate() {} }).complete();`,
);

async function webhooks(...args: string[]) {
  let stdout = '';
  let stderr = '';
  const output = {
    out: (text: string) => {
      stdout += text;
    },
    err: (text: string) => {
      stderr += text;
    },
  };
  const code = await main(['webhooks', ...args], output);
  return { code, stdout, stderr };
}

test('prints the configurations of all modules', async () => {
  const ca = join(place, 'ca.crt');
  writeFileSync(ca, 'a certificate');
  const { stdout, stderr } = await webhooks(site, other, '--service', 'web/hooks:8443', '--ca', ca);
  expect(stderr).toBe('');
  const [mutating, validating, ...none] = loadAllYaml(stdout);
  expect(none).toEqual([]);
  expect(mutating).toEqual({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'hooks' },
    webhooks: [
      {
        name: 'mutate.website.v1.example.com',
        admissionReviewVersions: ['v1'],
        clientConfig: {
          service: {
            namespace: 'web',
            name: 'hooks',
            port: 8443,
            path: '/mutate-example-com-v1-website',
          },
          caBundle: Buffer.from('a certificate').toString('base64'),
        },
        rules: [
          {
            apiGroups: ['example.com'],
            apiVersions: ['v1'],
            resources: ['websites'],
            operations: ['CREATE', 'UPDATE'],
            scope: 'Namespaced',
          },
        ],
        failurePolicy: 'Fail',
        sideEffects: 'None',
        timeoutSeconds: 10,
        matchPolicy: 'Equivalent',
        reinvocationPolicy: 'Never',
      },
    ],
  });
  expect(validating).toMatchObject({
    kind: 'ValidatingWebhookConfiguration',
    webhooks: [
      {
        name: 'validate.website.v1.example.com',
        rules: [{ operations: ['CREATE', 'DELETE'] }],
        failurePolicy: 'Ignore',
      },
      { name: 'validate.page.v1.example.com', rules: [{ operations: ['UPDATE'] }] },
    ],
  });
});

test('takes an address and a name, and writes and compares a file', async () => {
  const out = join(place, 'webhooks.yaml');
  const flags = ['--url', 'https://127.0.0.1:9443/', '--name', 'mine', '--out', out];
  expect(await webhooks(other, ...flags)).toEqual({ code: 0, stdout: '', stderr: '' });
  const text = readFileSync(out, 'utf8');
  expect(text).toContain('name: mine');
  expect(text).toContain('"https://127.0.0.1:9443/validate-example-com-v1-page"');
  expect((await webhooks(other, ...flags, '--check')).code).toBe(0);
  expect((await webhooks(site, ...flags, '--check')).stderr).toContain('differs from line');
});

test.each<[string, string[], string]>([
  ['no module', ['--url', 'https://a'], 'webhooks expected a module'],
  ['no address', [other], 'either --service <namespace>/<name> or --url <url>'],
  ['two addresses', [other, '--url', 'https://a', '--service', 'a/b'], 'either --service'],
  ['half a Service', [other, '--service', 'hooks'], 'such as default/website-webhook, got "hooks"'],
  ['no authority', [other, '--url', 'https://a', '--ca', '/nowhere'], '/nowhere could not be read'],
  [
    'a module without setupWebhooks',
    [moduleAt('none.mjs', 'export const answer = 42;'), '--url', 'https://a'],
    'expected an exported function setupWebhooks(manager)',
  ],
  [
    'a module that registers nothing',
    [moduleAt('empty.mjs', 'export const setupWebhooks = () => {};'), '--url', 'https://a'],
    'expected to register a webhook, got none',
  ],
  ['a module twice', [other, other, '--url', 'https://a'], 'already has a handler'],
])('refuses %s', async (_, args, message) => {
  const { code, stdout, stderr } = await webhooks(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(message);
});
