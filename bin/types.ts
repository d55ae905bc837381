/**
 * `capstan types`: generates TypeScript types and resources from CustomResourceDefinitions. The
 * output depends only on the definitions, not on their order or source.
 */

import type { CRDVersion, CustomResourceDefinition } from 'capstan/client';
import { CapstanError } from 'capstan/workqueue';
import { docOf, interfacesOf, literal, pascal, TypeNames, WIDTH } from './type-text.ts';

/** Names that the output imports. */
const RESERVED = ['ObjectMeta', 'Resource', 'defineResource'];

export interface TypesFilter {
  /** The groups to generate. Empty: all. */
  readonly groups: readonly string[];
  /** The kinds to generate. Empty: all. */
  readonly kinds: readonly string[];
}

/** One kind in one served version. */
interface Root {
  readonly crd: CustomResourceDefinition;
  readonly version: CRDVersion;
  readonly isPreferred: boolean;
  name: string;
}

/**
 * A module with an interface and a resource of the same name for each kind and served version. The
 * preferred version has the name of the kind: the newest stable version, else the newest beta, else
 * the newest alpha, as in discovery. Other names begin with the version: `V1beta1Gateway`. If
 * several groups have a kind of the same name, the names begin with the first part of the group.
 *
 * @throws CapstanError INVALID_ARGUMENT when nothing is left to write
 */
export function typesOf(
  definitions: readonly CustomResourceDefinition[],
  { groups, kinds }: TypesFilter,
): string {
  const wanted = definitions
    .filter(({ spec }) => groups.length === 0 || groups.includes(spec.group))
    .filter(({ spec }) => kinds.length === 0 || kinds.includes(spec.names.kind));
  const all = [...wanted].sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1));
  const roots = all.flatMap((crd) => {
    const served = crd.spec.versions.filter((version) => version.served !== false);
    const versions = [...served].sort((a, b) => compareVersions(a.name, b.name));
    return versions.map((version, at): Root => ({ crd, version, isPreferred: at === 0, name: '' }));
  });
  if (roots.length === 0)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `expected a definition with a served version, got ${
        definitions.map(({ metadata }) => metadata.name).join(', ') || 'none'
      }${groups.length + kinds.length > 0 ? ', which --group and --kind leave out' : ''}`,
    );
  const names = new TypeNames(RESERVED);
  giveNames(roots, names);
  const parts = roots.map((root) => `${typesText(root, names)}\n${resourceText(root)}`);
  return [headOf(all), ...parts].join('\n');
}

function headOf(definitions: readonly CustomResourceDefinition[]): string {
  const list = definitions.map(({ metadata }) => `- ${metadata.name}`);
  const notes = ['Types and resources of custom resources:', '', ...list, ''];
  return `${docOf([...notes, 'Written by capstan types. Do not edit.'], '')}
import { defineResource, type Resource } from 'capstan/cache';
import type { ObjectMeta } from 'capstan/client';
`;
}

/**
 * Names the kinds. A kind that several groups have begins with as many parts of its group as
 * needed.
 */
function giveNames(roots: readonly Root[], names: TypeNames): void {
  const kindOf = ({ crd }: Root): string => pascal(crd.spec.names.kind);
  const sameKind = Map.groupBy(roots, kindOf);
  for (const root of roots) {
    const { crd, version, isPreferred } = root;
    const kind = kindOf(root);
    const rivals = (sameKind.get(kind) ?? []).filter((other) => other.crd !== crd);
    const isTaken = rivals.length > 0 || RESERVED.includes(kind);
    const group = isTaken
      ? distinctPart(
          crd.spec.group,
          rivals.map((other) => other.crd.spec.group),
        )
      : '';
    root.name = names.take(`${group}${isPreferred ? '' : pascal(version.name)}${kind}`);
  }
}

/** `Gateway` of gateway.networking.k8s.io, where another group is networking.istio.io. */
function distinctPart(group: string, others: readonly string[]): string {
  const part = (of: string, count: number): string =>
    of.split('.').slice(0, count).map(pascal).join('');
  const length = group.split('.').length;
  for (let count = 1; count < length; count++)
    if (others.every((other) => part(other, count) !== part(group, count)))
      return part(group, count);
  return part(group, length);
}

function typesText({ crd, version, name }: Root, names: TypeNames): string {
  const { group, names: of } = crd.spec;
  const schema = version.schema?.openAPIV3Schema ?? {
    'x-kubernetes-preserve-unknown-fields': true,
  };
  const warning = version.deprecationWarning ?? `${group}/${version.name} ${of.kind} is deprecated`;
  const about = `${of.kind} of ${group}/${version.name}.`;
  return interfacesOf(
    {
      name,
      schema,
      about: schema.description === undefined ? [about] : [about, ''],
      deprecated: version.deprecated === true ? warning : undefined,
    },
    names,
  );
}

function resourceText({ crd, version, name }: Root): string {
  const { group, names, scope } = crd.spec;
  const head = `export const ${name}: Resource<${name}> =`;
  const call = `defineResource<${name}>()({`;
  const isLong = `${head} ${call}`.length > WIDTH;
  const members = Object.entries({
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
  });
  const lines = [
    ...members.map(([key, value]) => `  ${key}: ${literal(value)},`),
    `  namespaced: ${scope === 'Namespaced'},`,
    '});',
  ];
  const text = isLong
    ? `${head}\n  ${call}\n${lines.map((line) => `  ${line}\n`).join('')}`
    : `${head} ${call}\n${lines.join('\n')}\n`;
  return `/** The resource of {@link ${name}}. */\n${text}`;
}

/** apimachinery: pkg/version/helpers.go CompareKubeAwareVersionStrings, the greatest first. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parsed(a), parsed(b)];
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1;
    if (right !== undefined) return 1;
    return a < b ? -1 : Number(a > b);
  }
  const at = left.findIndex((part, index) => part !== right[index]);
  return at < 0 ? 0 : (right[at] as number) - (left[at] as number);
}

/** Stability, major, minor. */
function parsed(version: string): number[] | undefined {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return undefined;
  const [, major, stage, minor = '0'] = match;
  return [stage === undefined ? 2 : Number(stage === 'beta'), Number(major), Number(minor)];
}
