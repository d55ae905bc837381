/** The flags of a program: those of a cluster, and its own. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { CapstanError, invalid } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { ClusterChoice } from './connect-cluster.ts';

/** A flag of a program's own. */
export interface MainFlag {
  /** A boolean flag is on by `--name` or `--name=true`. */
  readonly type: 'string' | 'boolean';
  /** What it does, for the help. */
  readonly help: string;
  /** What its value is called in the help, such as `address`. Default: `text`. */
  readonly value?: string | undefined;
  /** One letter: `-v` for `v`. */
  readonly short?: string | undefined;
  /** Default: undefined, or false. */
  readonly default?: string | boolean | undefined;
}

const FLAG_NAMES = namesOf<MainFlag>()({ type: 1, help: 1, value: 1, short: 1, default: 1 });

/** Flags by name, such as `metrics-address`. */
export type MainFlagTable = Readonly<Record<string, MainFlag>>;

/** The values of flags. */
export type MainFlagValues<F extends MainFlagTable> = {
  readonly [N in keyof F]: F[N]['type'] extends 'boolean'
    ? boolean
    : F[N] extends { readonly default: string }
      ? string
      : string | undefined;
};

/** Options of {@link mainFlags}. */
export interface MainFlagOptions<F extends MainFlagTable> {
  /** Flags beside those of the cluster. */
  readonly flags?: F | undefined;
  /** What the program does, the first line of its help. */
  readonly summary?: string | undefined;
  /** Default: the arguments of this process. */
  readonly args?: readonly string[] | undefined;
}

const OPTION_NAMES = namesOf<MainFlagOptions<MainFlagTable>>()({ flags: 1, summary: 1, args: 1 });

/** What was given on the command line. */
export interface ParsedMainFlags<F extends MainFlagTable> {
  /** For `connectCluster`. */
  readonly cluster: ClusterChoice;
  /** The values of the program's own flags. */
  readonly values: MainFlagValues<F>;
  /** The text of the help if `--help` or `-h` was given. */
  readonly help: string | undefined;
}

const CLUSTER_FLAGS = {
  kubeconfig: {
    type: 'string',
    value: 'file',
    help: 'the kubeconfig (default: KUBECONFIG, the Pod, ~/.kube/config)',
  },
  context: {
    type: 'string',
    value: 'name',
    help: 'a context of the kubeconfig (default: its current one)',
  },
  namespace: {
    type: 'string',
    value: 'name',
    short: 'n',
    help: "a namespace (default: the context's or the Pod's)",
  },
} as const satisfies MainFlagTable;

const HELP = { type: 'boolean', short: 'h', help: 'prints this' } as const;

/**
 * Parses the flags of a program: `--kubeconfig`, `--context`, `--namespace` (`-n`), `--help` (`-h`)
 * and its own. Values follow after a space or `=`; of a flag that is given twice the last counts.
 * With `--help` the other arguments are not judged.
 *
 * @throws CapstanError INVALID_ARGUMENT for an unknown flag (with the one that was probably meant),
 *   a value that is missing, and arguments that are no flags
 * @example
 * const { cluster, values, help } = mainFlags({
 *   summary: 'Makes Websites.',
 *   flags: {
 *     'metrics-address': { type: 'string', default: ':8080', help: 'where metrics are served' },
 *   },
 * });
 * if (help !== undefined) {
 *   process.stdout.write(help);
 *   process.exit(0);
 * }
 * const { transport } = connectCluster(KubeConfig, cluster);
 * const manager = newManager({
 *   transport,
 *   metrics: { bindAddress: values['metrics-address'] },
 * });
 */
export function mainFlags<const F extends MainFlagTable = Record<never, never>>(
  options: MainFlagOptions<F> = {},
): ParsedMainFlags<F> {
  requireNames('options', options, 'option of mainFlags()', OPTION_NAMES);
  const { flags: own = {} as F, summary, args = process.argv.slice(2) } = options;
  const all: MainFlagTable = { ...CLUSTER_FLAGS, ...own, help: HELP };
  checkFlags(own, all);
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(all).map(([name, { type, short }]) => [
        name,
        { type, ...(short === undefined ? {} : { short }) },
      ]),
    ) as ParseArgsOptionsConfig,
    strict: false,
    tokens: true,
  });
  const given = new Map<string, string | boolean>();
  const asksHelp = tokens.some(
    ({ kind, ...token }) => kind === 'option' && 'name' in token && token.name === 'help',
  );
  if (!asksHelp)
    for (const token of tokens) {
      if (token.kind === 'positional')
        throw new CapstanError('INVALID_ARGUMENT', `"${token.value}" is no flag; ${SEE_HELP}`);
      if (token.kind === 'option') given.set(token.name, givenValue(token, all));
    }
  const value = (name: string): string | boolean | undefined =>
    given.get(name) ?? all[name]?.default ?? (all[name]?.type === 'boolean' ? false : undefined);
  const valuesOf = (flags: object): object =>
    Object.fromEntries(Object.keys(flags).map((name) => [name, value(name)]));
  return {
    cluster: valuesOf(CLUSTER_FLAGS) as ClusterChoice,
    values: valuesOf(own) as MainFlagValues<F>,
    help: asksHelp ? helpText(summary, all) : undefined,
  };
}

const SEE_HELP = 'see --help';

function checkFlags(own: MainFlagTable, all: MainFlagTable): void {
  const shorts = new Map<string, string>();
  for (const [name, flag] of Object.entries(all)) {
    const path = `options.flags.${name}`;
    requireNames(path, flag, 'member of a flag', FLAG_NAMES);
    const { type, help, short, default: preset } = flag;
    if (Object.hasOwn(own, name) && (name === 'help' || Object.hasOwn(CLUSTER_FLAGS, name)))
      throw invalid(path, 'another name, as every program has this flag', flag);
    if (!/^[a-z][a-z\d]*(-[a-z\d]+)*$/.test(name))
      throw invalid(path, 'a name such as "metrics-address"', name);
    if (type !== 'string' && type !== 'boolean')
      throw invalid(`${path}.type`, '"string" or "boolean"', type);
    if (typeof help !== 'string') throw invalid(`${path}.help`, 'a text', help);
    if (preset !== undefined && typeof preset !== type)
      throw invalid(`${path}.default`, `a ${type}`, preset);
    if (short === undefined) continue;
    if (!/^[a-zA-Z]$/.test(short)) throw invalid(`${path}.short`, 'one letter', short);
    const other = shorts.get(short);
    if (other !== undefined)
      throw invalid(`${path}.short`, `another letter than that of --${other}`, short);
    shorts.set(short, name);
  }
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function givenValue({ name, rawName, value, inlineValue }: OptionToken, all: MainFlagTable) {
  const flag = Object.hasOwn(all, name) ? all[name] : undefined;
  if (flag === undefined) {
    const known = Object.keys(all).map((each) => [`--${each}`, 1] as const);
    requireNames('flags', { [rawName]: true }, 'flag', Object.fromEntries(known));
  }
  if (flag?.type === 'boolean') {
    if (value === undefined || value === 'true' || value === 'false') return value !== 'false';
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${rawName} expected true or false, got "${value}"; ${SEE_HELP}`,
    );
  }
  // A value that looks like a flag is one whose own value was forgotten.
  const isMissing = value === undefined || value === '' || (!inlineValue && value.startsWith('-'));
  if (isMissing)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${rawName} expected a value: --${name}=<${flag?.value ?? 'text'}>; ${SEE_HELP}`,
    );
  return value;
}

function helpText(summary: string | undefined, all: MainFlagTable): string {
  const rows = Object.entries(all).map(([name, { type, short, value = 'text', ...flag }]) => {
    const letter = short === undefined ? '    ' : `-${short}, `;
    const preset =
      flag.default === undefined || flag.default === false ? '' : ` (default: ${flag.default})`;
    const left = `  ${letter}--${name}${type === 'string' ? ` <${value}>` : ''}`;
    return [left, `${flag.help}${preset}`] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length)) + 3;
  const lines = rows.map(([left, right]) => `${left.padEnd(width)}${right}`);
  const head = summary === undefined ? [] : [summary, ''];
  return `${[...head, 'Flags:', ...lines].join('\n')}\n`;
}
