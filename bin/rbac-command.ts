/** The arguments of `capstan rbac`, and what it prints. */
import { resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';
import { flag, type Printed, text, texts, usage } from './command.ts';
import { documentsIn, readSource } from './definition-files.ts';
import {
  type Difference,
  differences,
  needsOf,
  type RoleAccount,
  type RoleChoice,
  type RoleRule,
  rolesText,
} from './rbac.ts';
import { type Asked, askedIn, type Sources } from './rbac-record.ts';
import { writeWhole } from './whole-file.ts';

export const RBAC_HELP = `Usage: capstan rbac <record>... [options]
       capstan rbac <record>... --check <role.yaml> [options]

Prints the smallest Roles for the recorded requests of a program, with the reason of each rule. A
record is a file, an address or stdin (-): the file of CAPSTAN_RECORD_ACCESS that a manager wrote,
the path /debug/capstan/access of a running manager, or the audit log of an API server. If the
program watches a kind in all namespaces, its requests for such objects become a ClusterRole.

  --name <name>                of the Roles   (default: controller)
  --service-account <ns/name>  prints bindings to this account too
  --exact                      uses the recorded names and namespaces
  --all-namespaces             prints one ClusterRole, for a program whose namespaces come and go
  --namespace <from=to>        moves requests from one namespace to another; may be given several
                               times
  --ignore <text>              leaves out requests of code whose file has this text, such as test/;
                               may be given several times
  --user <name>                reads only this user of an audit log; may be given several times
  --all                        prints also what every user may do, such as discovery
  --out <file>                 writes the Roles there
  --check <role.yaml>          prints instead which permissions these Roles lack, and which were
                               never used; may be given several times. The exit code is 0 if there
                               are none, 2 if there are, and 1 when the command fails
  --allow-wider                with --check: reports only missing permissions
  --json                       with --check: prints an array of { kind, message }

Example: CAPSTAN_RECORD_ACCESS=access.jsonl npm test && capstan rbac access.jsonl --name website
`;

export const RBAC_FLAGS = {
  name: text,
  'service-account': text,
  exact: flag,
  'all-namespaces': flag,
  namespace: texts,
  ignore: texts,
  user: texts,
  all: flag,
  out: text,
  check: texts,
  'allow-wider': flag,
  json: flag,
} as const;

interface Values {
  readonly name?: string;
  readonly 'service-account'?: string;
  readonly exact?: boolean;
  readonly 'all-namespaces'?: boolean;
  readonly namespace?: readonly string[];
  readonly ignore?: readonly string[];
  readonly user?: readonly string[];
  readonly all?: boolean;
  readonly out?: string;
  readonly check?: readonly string[];
  readonly 'allow-wider'?: boolean;
  readonly json?: boolean;
}

export async function runRbac(
  positionals: readonly string[],
  given: Readonly<Record<string, unknown>>,
): Promise<Printed> {
  const values = given as Values;
  if (positionals.length === 0)
    throw usage('rbac expected a record of requests, such as access.jsonl, got none', 'rbac');
  const { name = 'controller', exact = false, all = false, ignore = [], user = [] } = values;
  if (!/^[a-z\d]([-a-z\d.:]*[a-z\d])?$/.test(name))
    throw usage(`--name expected a name for Roles, got ${name}`, 'rbac');
  const account = accountOf(values['service-account']);
  const renamed = renamesOf(values.namespace ?? []);
  const everywhere = values['all-namespaces'] === true;
  if (everywhere && exact) throw usage('expected --exact or --all-namespaces, got both', 'rbac');
  const choice: RoleChoice = { name, exact, everywhere, all };
  const asked = askedIn(await sourcesOf(positionals), { ignore, users: user })
    .map((one) => ({ ...one, namespace: renamed.get(one.namespace) ?? one.namespace }))
    .map(withPlacesFromHere);
  const needs = needsOf(asked, choice);
  if (values.check !== undefined) {
    const rules = (await Promise.all(values.check.map(rulesIn))).flat();
    const found = differences(needs, rules).filter(
      ({ kind }) => values['allow-wider'] !== true || kind === 'too small',
    );
    const printed = values.json === true ? `${JSON.stringify(found, null, 2)}\n` : lines(found);
    return { text: printed, code: found.length === 0 ? 0 : 2 };
  }
  if (needs.length === 0)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${positionals.join(', ')} expected recorded requests that need a permission, got none`,
    );
  const roles = rolesText(needs, name, account);
  if (values.out === undefined) return { text: roles, code: 0 };
  await writeWhole(resolve(values.out), roles);
  return { text: '', code: 0 };
}

function lines(found: readonly Difference[]): string {
  if (found.length === 0) return 'equal\n';
  return found.map(({ kind, message }) => `${kind}: ${message}\n`).join('');
}

async function sourcesOf(positionals: readonly string[]): Promise<Sources> {
  return Promise.all(
    positionals.map(
      async (source) =>
        [source, await attempt(`${source} could not be read`, () => readSource(source))] as const,
    ),
  );
}

/** Shows paths below the current folder relative to it. */
function withPlacesFromHere(one: Asked): Asked {
  const here = [`${pathToFileURL(process.cwd()).href}/`, `${process.cwd()}${sep}`];
  const short = (place: string): string =>
    here.reduce((left, root) => left.replace(root, ''), place);
  const by = Object.entries(one.by).map(([place, count]) => [short(place), count]);
  return { ...one, by: Object.fromEntries(by) };
}

function accountOf(given: string | undefined): RoleAccount | undefined {
  if (given === undefined) return undefined;
  const [namespace = '', name = '', ...more] = given.split('/');
  if (namespace === '' || name === '' || more.length > 0)
    throw usage(`--service-account expected <namespace>/<name>, got ${given}`, 'rbac');
  return { namespace, name };
}

function renamesOf(given: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    given.map((one) => {
      const [from = '', to = '', ...more] = one.split('=');
      if (from === '' || to === '' || more.length > 0)
        throw usage(`--namespace expected <from>=<to>, got ${one}`, 'rbac');
      return [from, to] as const;
    }),
  );
}

interface RoleDocument {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown } | null;
  readonly items?: unknown;
  readonly rules?: unknown;
  readonly roleRef?: { readonly kind?: unknown; readonly name?: unknown } | null;
}

/**
 * The rules of the Roles in a file. A ClusterRole holds in all namespaces, unless the file has
 * RoleBindings for it and no ClusterRoleBinding.
 */
async function rulesIn(source: string): Promise<RoleRule[]> {
  const content = await attempt(`${source} could not be read`, () => readSource(source));
  const documents = (await documentsIn(source, content)).flatMap(itemsOf);
  const roles = documents.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
  if (roles.length === 0)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `${source} expected a Role or a ClusterRole, got ` +
        `${documents.map(({ kind }) => String(kind)).join(', ') || 'none'}`,
    );
  return roles.flatMap((role) => {
    const { kind, metadata, rules } = role;
    const of = `${kind} ${metadata?.name}`;
    const given = rules ?? [];
    if (!Array.isArray(given))
      throw new CapstanError('INVALID_ARGUMENT', `${of} of ${source} expected rules as a list`);
    return namespacesOf(role, documents).flatMap((namespace) =>
      given.map((rule: Record<string, unknown>) => {
        const words = (name: string): string[] => wordsOf(rule?.[name], `${name} of ${of}`);
        return {
          of,
          namespace,
          verbs: words('verbs'),
          apiGroups: words('apiGroups'),
          resources: words('resources'),
          resourceNames: words('resourceNames'),
          nonResourceURLs: words('nonResourceURLs'),
        };
      }),
    );
  });
}

/** The namespaces in which a Role holds: '' for all. */
function namespacesOf(
  { kind, metadata }: RoleDocument,
  documents: readonly RoleDocument[],
): (string | undefined)[] {
  const namespace = metadata?.namespace;
  if (kind === 'Role') return [typeof namespace === 'string' ? namespace : undefined];
  const bindings = documents.filter(
    ({ roleRef }) => roleRef?.kind === kind && roleRef?.name === metadata?.name,
  );
  if (bindings.length === 0 || bindings.some((each) => each.kind === 'ClusterRoleBinding'))
    return [''];
  return bindings.map((each) => String(each.metadata?.namespace ?? 'default'));
}

function itemsOf(document: unknown): RoleDocument[] {
  if (typeof document !== 'object' || document === null) return [];
  const { items } = document as RoleDocument;
  return Array.isArray(items) ? items.flatMap(itemsOf) : [document as RoleDocument];
}

function wordsOf(value: unknown, what: string): string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((word) => typeof word === 'string')) return value;
  throw new CapstanError('INVALID_ARGUMENT', `${what} expected a list of words`);
}
