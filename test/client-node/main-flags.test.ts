/** The flags of a program: their values, their help, and the errors about wrong ones. */
import { type MainFlagTable, mainFlags } from 'capstan/client-node';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { expectError } from '../helpers/expect-error.ts';

const flags = {
  'metrics-address': {
    type: 'string',
    value: 'address',
    default: ':8080',
    help: 'where metrics are served',
  },
  'leader-elect': { type: 'boolean', help: 'waits for the lease' },
  config: { type: 'string', short: 'c', help: 'a file' },
} as const;
const given = (...args: string[]) => mainFlags({ flags, args, summary: 'Makes Websites.' });

test('values follow after a space or an equals sign; the last counts', () => {
  const { cluster, values, help } = given(
    '--kubeconfig=/a=b',
    '--context',
    'one',
    '--context',
    'two',
    '-n',
    'web',
    '--leader-elect',
    '-cfile',
  );
  expect(cluster).toEqual({ kubeconfig: '/a=b', context: 'two', namespace: 'web' });
  expect(values).toEqual({ 'metrics-address': ':8080', 'leader-elect': true, config: 'file' });
  expect(help).toBeUndefined();
  expectTypeOf(values).toEqualTypeOf<{
    readonly 'metrics-address': string;
    readonly 'leader-elect': boolean;
    readonly config: string | undefined;
  }>();
});

test('without arguments there are defaults', () => {
  expect(given()).toEqual({
    cluster: { kubeconfig: undefined, context: undefined, namespace: undefined },
    values: { 'metrics-address': ':8080', 'leader-elect': false, config: undefined },
    help: undefined,
  });
  expect(mainFlags({ args: [] }).values).toEqual({});
});

test('a boolean flag may be turned off', () => {
  expect(given('--leader-elect=false').values['leader-elect']).toBe(false);
  expect(given('--leader-elect=true').values['leader-elect']).toBe(true);
});

test('--help gives the text, and other flags are not checked', () => {
  const expected = `Makes Websites.

Flags:
      --kubeconfig <file>           the kubeconfig (default: KUBECONFIG, the Pod, ~/.kube/config)
      --context <name>              a context of the kubeconfig (default: its current one)
  -n, --namespace <name>            a namespace (default: the context's or the Pod's)
      --metrics-address <address>   where metrics are served (default: :8080)
      --leader-elect                waits for the lease
  -c, --config <text>               a file
  -h, --help                        prints this
`;
  expect(given('--help').help).toBe(expected);
  expect(given('--wrong', '-h', 'more').help).toBe(expected);
});

describe('the error about a wrong argument names the flag that was probably meant', () => {
  test.each<[args: string[], message: string]>([
    [['--contxt=a'], '"--contxt" is no flag: did you mean "--context"?'],
    [['--kube-config', 'a'], '"--kube-config" is no flag: did you mean "--kubeconfig"?'],
    [['--metrics-adress=a'], '"--metrics-adress" is no flag: did you mean "--metrics-address"?'],
    [
      ['--zzz'],
      '"--zzz" is no flag: there are --config, --context, --help, --kubeconfig, ' +
        '--leader-elect, --metrics-address, --namespace',
    ],
    [['--toString'], '"--toString" is no flag'],
    [['--context'], '--context expected a value: --context=<name>; see --help'],
    [['--context', '--leader-elect'], '--context expected a value: --context=<name>; see --help'],
    [['--context='], '--context expected a value: --context=<name>; see --help'],
    [['-n'], '-n expected a value: --namespace=<name>; see --help'],
    [['--leader-elect=yes'], '--leader-elect expected true or false, got "yes"; see --help'],
    [['run'], '"run" is no flag; see --help'],
    [['--leader-elect', 'true'], '"true" is no flag; see --help'],
  ])('%j', (args, message) => {
    expect(() => given(...args)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(message),
      }),
    );
  });
});

describe('a wrong declaration of a flag is an error', () => {
  const help = 'a';
  test.each<[flags: Record<string, unknown>, message: RegExp]>([
    [{ context: { type: 'string', help } }, /another name/],
    [{ help: { type: 'boolean', help } }, /another name/],
    [{ Mode: { type: 'string', help } }, /a name such as/],
    [{ mode: { type: 'number', help } }, /"string" or "boolean"/],
    [{ mode: { type: 'string' } }, /help" expected a text/],
    [{ mode: { type: 'string', help, default: true } }, /default" expected a string/],
    [{ mode: { type: 'string', help, short: 'mode' } }, /one letter/],
    [{ mode: { type: 'string', help, short: 'n' } }, /another letter than that of --namespace/],
    [{ mode: { type: 'string', help, descripton: 'a' } }, /is no member of a flag/],
  ])('%j', (wrong, message) => {
    expectError(
      () => mainFlags({ flags: wrong as MainFlagTable, args: [] }),
      'INVALID_ARGUMENT',
      message,
    );
  });
});
