/** The command line of the provisioner. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseOptions, UsageError } from '../../examples/provisioner/options.ts';

test('without a cluster it runs the demonstration; all flags are parsed', () => {
  expect(parseOptions([])).toEqual({
    target: undefined,
    root: join(tmpdir(), 'capstan-volumes'),
    namespace: 'default',
    workers: 4,
    healthProbe: '0',
    metrics: '0',
  });
  expect(parseOptions(['--server', 'http://localhost:8001'])?.target).toEqual({
    server: 'http://localhost:8001',
  });
  expect(parseOptions(['--kubeconfig=file', '--workers=8'])).toMatchObject({
    target: { kubeconfig: 'file' },
    workers: 8,
  });
  const inCluster = [
    '--in-cluster',
    '--root=/srv',
    '--namespace=storage',
    '--health=:8081',
    '--metrics=:8080',
  ];
  expect(parseOptions(inCluster)).toMatchObject({
    target: 'in-cluster',
    root: '/srv',
    namespace: 'storage',
    healthProbe: ':8081',
    metrics: ':8080',
  });
  expect(parseOptions(['--help'])).toBeUndefined();
});

test('an unknown flag or value is rejected with what was expected', () => {
  const wrong: [string[], RegExp][] = [
    [['--in-cluster', '--server', 'http://a'], /exclude each other/],
    [['--kubeconfig', 'a', '--server', 'http://a'], /exclude each other/],
    [['--workers', '0'], /--workers expected 1 to 999, got "0"/],
    [['--workers', 'many'], /--workers expected 1 to 999, got "many"/],
    [
      ['--server', 'localhost:8001'],
      /--server expected an http or https URL, got "localhost:8001"/,
    ],
    [['--fast'], /--fast/],
    [['something'], /something/],
  ];
  for (const [args, message] of wrong) {
    expect(() => parseOptions(args), args.join(' ')).toThrow(UsageError);
    expect(() => parseOptions(args), args.join(' ')).toThrow(message);
  }
});
