/**
 * Writes docs/reference/options.md, the options with their defaults, from the docstrings: `node
 * scripts/options-page.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { docstringText, firstSentence } from './reference-pages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
export const OPTIONS_PAGE = `${root}docs/reference/options.md`;

interface Group {
  heading: string;
  about: string;
  /** Each interface with the file that has it. */
  interfaces: Readonly<Record<string, string>>;
}

const GROUPS: readonly Group[] = [
  {
    heading: 'Manager',
    about: 'Of `newManager`. `cache`, `client` and `controller` have the options below.',
    interfaces: { ManagerOptions: 'manager/options.ts' },
  },
  {
    heading: 'Leader election',
    about: 'Of `leaderElection`.',
    interfaces: { LeaderElectionOptions: 'manager/options.ts' },
  },
  {
    heading: 'Shards',
    about: 'Of `shards`.',
    interfaces: { ShardOptions: 'manager/options.ts' },
  },
  {
    heading: 'Health probes',
    about: 'Of `healthProbe`.',
    interfaces: { HealthProbeOptions: 'manager/options.ts' },
  },
  {
    heading: 'Metrics server',
    about: 'Of `metrics`.',
    interfaces: { MetricsOptions: 'manager/options.ts' },
  },
  {
    heading: 'Profiles',
    about: 'Of `profiling`.',
    interfaces: { ProfilingOptions: 'manager/options.ts' },
  },
  {
    heading: 'Live page',
    about: 'Of `debugPage`, for a page with an address of its own.',
    interfaces: { DebugPageOptions: 'manager/options.ts' },
  },
  {
    heading: 'Controllers',
    about:
      'Of `createController`, and of `withOptions` of the builder. A manager has defaults for\n' +
      'some of them in `controller`.',
    interfaces: {
      ControllerOptions: 'controller/create-controller.ts',
      ControllerSettings: 'controller/options.ts',
    },
  },
  {
    heading: 'Caches',
    about: 'Of `cache`, and of `newSharedInformerFactory`.',
    interfaces: {
      FactoryOptions: 'cache/informer/factory-options.ts',
      SharedIndexInformerOptions: 'cache/informer/informer-options.ts',
      CacheLimits: 'cache/decode/limits.ts',
      DecoderOptions: 'cache/decode/limits.ts',
      Budget: 'cache/decode/limits.ts',
      Packing: 'cache/decode/limits.ts',
    },
  },
  {
    heading: 'Clients',
    about: 'Of `client`, and of `newClient`.',
    interfaces: { ClientOptions: 'client/client.ts' },
  },
  {
    heading: 'Queues',
    about: 'Of every queue.',
    interfaces: { QueueOptions: 'workqueue/options.ts' },
  },
];

const HEAD = `---
title: Options
order: 6
description: The options of managers, controllers, caches, clients and queues, with their defaults.
---

<!-- Written by scripts/options-page.ts from the docstrings. -->

# Options

Times are in milliseconds. An unknown option is refused (\`INVALID_ARGUMENT\`), with the name that
was probably meant. The full text of an option is in the docstring that an editor shows, and in the
entries of all exports.
`;

interface Option {
  name: string;
  what: string;
  standard: string;
}

/** `Default: none.`, `Default 5000.`; not `Defaults for …` and `Default selections …`. */
const DEFAULT = new RegExp(
  '(?:^|[.,;] )Default(?: and maximum)?' +
    String.raw`(?:: | (?=[\d\`'(]|true|false|none|ten))(.*?)(?:\.(?=\s|$)|$)`,
);
/** `0, the default: never`, `('error', the default)`. */
const THE_DEFAULT = /([`'\w]+), the default\b/;

/** The options of an interface, in the order of its source. */
export function optionRows(name: string, source: string): Option[] {
  const body = new RegExp(
    String.raw`^export interface ${name}\b[\s\S]*?\{\n([\s\S]*?)^\}`,
    'm',
  ).exec(source)?.[1];
  if (body === undefined) throw new Error(`expected an exported interface ${name}`);
  const members = body.matchAll(/^ {2}(?:\/\*\*([\s\S]*?)\*\/\s+)?(?:readonly )?(\w+)\??:/gm);
  return [...members].flatMap(([, comment, option = '']) => {
    if (comment?.includes('@deprecated')) return [];
    const text = docstringText(comment ?? '');
    const whole = comment?.replaceAll(/\s*\n\s*\* ?/g, ' ') ?? '';
    const standard = (DEFAULT.exec(text) ?? THE_DEFAULT.exec(whole))?.[1] ?? '';
    const sentence = firstSentence(text).replace(/(?<=\.) [`'\w]+, the default:.*$/, '');
    return [{ name: option, what: DEFAULT.test(sentence) ? '' : sentence, standard }];
  });
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** All options, by heading. Where two interfaces have an option, the first one describes it. */
export function allOptions(): Map<string, Option[]> {
  const options = GROUPS.map(({ heading, interfaces }): [string, Option[]] => {
    const found = Object.entries(interfaces).flatMap(([name, file]) =>
      optionRows(name, readFileSync(`${root}bindings/${file}`, 'utf8')),
    );
    const names = found.map(({ name }) => name);
    return [heading, found.filter(({ name }, i) => names.indexOf(name) === i)];
  });
  return new Map(options);
}

function table({ heading, about }: Group): string {
  const rows = (allOptions().get(heading) ?? []).map(
    ({ name, what, standard }) => `| \`${name}\` | ${cell(what)} | ${cell(standard)} |`,
  );
  return [`## ${heading}\n`, `${about}\n`, '| option | what | default |', '| --- | --- | --- |']
    .concat(rows, '')
    .join('\n');
}

export const optionsPage = (): string => [HEAD, ...GROUPS.map(table)].join('\n');

if (import.meta.main) writeFileSync(OPTIONS_PAGE, optionsPage());
