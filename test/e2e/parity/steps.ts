/** The building blocks of cases: requests, and the kinds and parameters to choose from. */
import type { Random } from '../../helpers/random.ts';
import type { ParityCase, RequestStep } from './case.ts';
import { collectionOf, SAMPLES, sampleName, sampleOf } from './objects.ts';
import type { SampleKind } from './sample-kind.ts';

export const PATCHES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** Generates about `count` cases. */
export type Group = (random: Random, count: number) => ParityCase[];

export const times = (count: number, make: (index: number) => ParityCase): ParityCase[] =>
  Array.from({ length: count }, (_, index) => make(index));

export const createStep = (
  kind: SampleKind,
  body: unknown = sampleOf(kind),
  query = '',
): RequestStep => ({
  method: 'POST',
  path: collectionOf(kind) + (kind.controlled ? dry(query) : query),
  body,
});
const dry = (query: string): string => `${query === '' ? '?' : `${query}&`}dryRun=All`;
export const objectPath = (kind: SampleKind, name = 'a'): string =>
  `${collectionOf(kind)}/${sampleName(kind, name)}`;
export const getStep = (kind: SampleKind, name = 'a'): RequestStep => ({
  method: 'GET',
  path: objectPath(kind, name),
});

/** The kinds whose objects only the case changes. */
export const WRITTEN = SAMPLES.filter(({ controlled }) => !controlled);
/** Namespaced kinds, whose objects of other cases a list does not contain. */
export const LISTED = WRITTEN.filter(({ namespaced }) => namespaced);

/** Picks a kind. Those that users write most are more frequent. */
export function pickKind(random: Random, from: readonly SampleKind[] = WRITTEN): SampleKind {
  const common = from.filter(({ kind }) => /^(Pod|Deployment|Service|ConfigMap|Job)$/.test(kind));
  return common.length > 0 && random.chance(0.25) ? random.pick(common) : random.pick(from);
}

export const VALIDATION = [
  '',
  '',
  '',
  '?fieldValidation=Strict',
  '?fieldValidation=Ignore',
  '?fieldValidation=Warn',
];
export const WRITE_OPTIONS = [
  '?dryRun=All',
  '?dryRun=',
  '?dryRun=Some',
  '?dryRun=All&dryRun=All',
  '?fieldManager=me',
  `?fieldManager=${'m'.repeat(129)}`,
  '?fieldManager=%0a',
  '?fieldValidation=strict',
  '?pretty=true',
  '?unknown=1',
  '?force=true',
  '?fieldValidation=',
];
