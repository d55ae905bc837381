/** The arguments of `capstan crd diff`, and what it prints. */
import type { CustomResourceDefinition } from 'capstan/client';
import { CLUSTER_FLAGS } from './cluster.ts';
import { flag, type Printed, texts, usage } from './command.ts';
import {
  type BreakingChange,
  breakingChanges,
  type ChangeRule,
  changesText,
  RULES,
} from './crd-diff.ts';
import { definitionsOf, definitionsOfCluster } from './definition-files.ts';
import { nearestWord } from './nearest.ts';

export const CRD_DIFF_HELP = `Usage: capstan crd diff <old> <new> [options]
       capstan crd diff --cluster <new>... [options]

Prints the changes of CustomResourceDefinitions that break clients or stored objects, each with its
path and its rule. Old and new definitions are files, addresses or stdin (-) with YAML or JSON, or
modules that export definitions. The exit code is 0 without a breaking change, 2 with one, and 1
when the command fails.

  --cluster              compares with the definitions of the cluster of the kubeconfig
  --kubeconfig <file>    of that cluster   (default: KUBECONFIG, the own Pod, ~/.kube/config)
  --context <name>       of the kubeconfig (default: its current one)
  --allow <rule>         accepts changes of a rule, or <rule>:<path> at one path; may be given
                         several times
  --json                 prints an array of { definition, version, path, rule, message }

Example: capstan crd diff deploy/crd.yaml src/controllers.ts --allow field-removed:spec.old
`;

export const CRD_DIFF_FLAGS = {
  cluster: flag,
  ...CLUSTER_FLAGS,
  allow: texts,
  json: flag,
} as const;

export async function runCrdDiff(
  positionals: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Promise<Printed> {
  const {
    cluster,
    kubeconfig,
    context,
    allow = [],
    json,
  } = values as {
    cluster?: boolean;
    kubeconfig?: string;
    context?: string;
    allow?: string[];
    json?: boolean;
  };
  const isCluster = cluster === true || kubeconfig !== undefined || context !== undefined;
  if (isCluster ? positionals.length === 0 : positionals.length !== 2)
    throw usage(
      `crd diff expected ${isCluster ? 'the new definitions' : 'old and new definitions'}, ` +
        `got ${positionals.join(' ') || 'none'}`,
      'crd diff',
    );
  const isAllowed = allowedBy(allow);
  const after = await definitionsOf(isCluster ? positionals : positionals.slice(1));
  const names = after.map(({ metadata }) => metadata.name);
  const before: CustomResourceDefinition[] = isCluster
    ? (await definitionsOfCluster({ kubeconfig, context })).filter(({ metadata }) =>
        names.includes(metadata.name),
      )
    : await definitionsOf([positionals[0] as string]);
  const changes = breakingChanges(before, after).filter((change) => !isAllowed(change));
  const printed = json === true ? `${JSON.stringify(changes, null, 2)}\n` : changesText(changes);
  return { text: printed, code: changes.length === 0 ? 0 : 2 };
}

function allowedBy(allow: readonly string[]): (change: BreakingChange) => boolean {
  const known = Object.keys(RULES);
  const allowed = allow.map((one) => {
    const [rule = '', ...path] = one.split(':');
    if (!known.includes(rule)) {
      const meant = nearestWord(rule, known);
      const hint = meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`;
      throw usage(`--allow expected a rule, got ${rule}: ${hint}`, 'crd diff');
    }
    return { rule: rule as ChangeRule, path: path.length === 0 ? undefined : path.join(':') };
  });
  return (change) =>
    allowed.some(
      ({ rule, path }) => rule === change.rule && (path === undefined || path === change.path),
    );
}
