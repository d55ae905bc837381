/**
 * docs/reference/cli.md is what the help of the commands says. After a change of a help text:
 * `npx vitest run test/bin/cli-page.test.ts -u`.
 */
import { expect, test } from 'vitest';
import { root } from '../helpers/repository.ts';
import { cliPage, commandNames } from './cli-page.ts';

test('the commands are found', async () => {
  expect(await commandNames()).toEqual(expect.arrayContaining(['init', 'add', 'crd']));
});

test('docs/reference/cli.md is the help of the commands', async () => {
  await expect(await cliPage()).toMatchFileSnapshot(`${root}/docs/reference/cli.md`);
});
