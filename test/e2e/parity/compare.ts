/** Finds the differences between two transcripts of one case. */
import type { Json, JsonObject } from '../same-answers/api.ts';
import { normaliseTranscript } from '../same-answers/normalise.ts';
import { intendedDifferences } from './differences.ts';
import { CLOSED, type Transcript } from './exchange.ts';

export interface Finding {
  /** The index of the request, from 0. */
  request: number;
  /** `body.spec.replicas`. */
  path: string;
  real: string;
  embedded: string;
}

export function compare(real: Transcript, embedded: Transcript): Finding[] {
  const [expected, got] = [comparable(real), comparable(embedded)];
  const found: Finding[] = [];
  for (let request = 0; request < Math.max(expected.length, got.length); request++) {
    if (real[request]?.status === CLOSED) break;
    const before = found.length;
    walk(expected[request], got[request], '', (path, a, b) =>
      found.push({ request, path, real: shown(a), embedded: shown(b) }),
    );
    // Later differences mostly follow from the first one.
    if (found.length > before) break;
  }
  return found;
}

function comparable(transcript: Transcript): (Json | undefined)[] {
  const blurred = transcript.map((entry) =>
    intendedDifferences.reduce((at, { blur }) => blur(at), withoutOtherCases(entry)),
  );
  const normal = normaliseTranscript(blurred);
  return normal.map((entry, index) => {
    const { headers } = blurred[index] as Transcript[number];
    return headers === undefined ? entry : ({ ...(entry as object), headers } as Json);
  });
}

const GROUP_OF_A_CASE = /^n\d+-\d+\.example\.com$/;

/**
 * Cases run at the same time, and each server serves a new definition after a while: the list of
 * all groups may or may not have those that other cases define.
 */
function withoutOtherCases(entry: Transcript[number]): Transcript[number] {
  if (!/ \/apis\/?$/.test(entry.request) || !isObject(entry.body)) return entry;
  const { groups } = entry.body;
  if (!Array.isArray(groups)) return entry;
  const ofAll = groups.filter((group) => !GROUP_OF_A_CASE.test(String((group as JsonObject).name)));
  return { ...entry, body: { ...entry.body, groups: ofAll } };
}

function walk(
  a: Json | undefined,
  b: Json | undefined,
  path: string,
  tell: (path: string, a: Json | undefined, b: Json | undefined) => void,
): void {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let index = 0; index < Math.max(a.length, b.length); index++)
      walk(a[index], b[index], `${path}[${index}]`, tell);
  } else if (isObject(a) && isObject(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
      walk(a[name], b[name], path === '' ? name : `${path}.${name}`, tell);
  } else if (a !== b) tell(path, a, b);
}

const isObject = (value: unknown): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
