/** The example of webhooks as a reader runs it: with plain Node, on the built package. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { freePort } from '../helpers/http-servers.ts';
import { root } from '../helpers/repository.ts';

test('the example shows a default and three denials', async () => {
  const env = { ...process.env, WEBHOOK_PORT: String(await freePort()) };
  const program = ['examples/webhooks/main.ts'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, program, {
    cwd: root,
    env,
    timeout: 60_000,
  });
  expect(stderr).toBe('');
  const denied = (name: string, text: string) =>
    `admission webhook "${name}" denied the request: ${text}`;
  const rules = 'validate.site.v1.demo.capstan.dev';
  expect(stdout.trimEnd().split('\n')).toEqual([
    "created with { host: 'shop.example', replicas: 1 }",
    `another host: ${denied(rules, 'host is immutable')}`,
    `a deletion: ${denied(rules, 'it is to be kept')}`,
    `a wrong contact: ${denied(
      'schema.site.demo.capstan.dev',
      'Site is not valid: spec.contact: expected an address such as ops@example.com',
    )}`,
  ]);
});
