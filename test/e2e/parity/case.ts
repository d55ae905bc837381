/**
 * A parity case: requests that go, one after another, to the embedded and to a real API server. It
 * is plain JSON on one line, so that a failing one can be printed and run again.
 */
import { createHash } from 'node:crypto';

/** One request. */
export interface RequestStep {
  method: string;
  /**
   * With its query. `NS` stands for the namespace of the case, in bodies too. `NS::` begins an
   * address of its own.
   */
  path: string;
  /** A string is sent as it is; anything else as JSON. */
  body?: unknown;
  /** The Content-Type; `application/json` where there is a body. */
  type?: string;
  accept?: string;
  headers?: Record<string, string>;
  /** The stream is opened here and read to its end, after the steps that follow. */
  watch?: true;
  /** The request is repeated until it is answered by this status: a definition takes a while. */
  until?: number;
}

export interface ParityCase {
  /** What the case is about; the counts are by group. */
  group: string;
  steps: readonly RequestStep[];
}

/** `{{0.metadata.uid}}`: that member of the answer to the first step. */
const REFERENCE = /\{\{(\d+)\.([^}]+)\}\}/g;

/** A text of a step for one server: its namespace, and what earlier answers said. */
export function filledIn(text: string, namespace: string, answers: readonly unknown[]): string {
  return text
    .replaceAll(/\bNS::/g, addressesOf(namespace))
    .replaceAll(/\bNS\b/g, namespace)
    .replaceAll(REFERENCE, (_, step: string, path: string) =>
      String(memberAt(answers[Number(step)], path) ?? ''),
    );
}

/** The beginning of addresses that no other namespace has: `2001:db8:1a2b:3c4d::`. */
function addressesOf(namespace: string): string {
  const digest = createHash('sha1').update(namespace).digest('hex');
  return `2001:db8:1${digest.slice(0, 3)}:1${digest.slice(3, 6)}::`;
}

function memberAt(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (at, name) => (at as Record<string, unknown> | null | undefined)?.[name],
      value,
    );
}

/** The steps whose answers a step refers to. */
export function referencesOf(step: RequestStep): number[] {
  return [...JSON.stringify(step).matchAll(REFERENCE)].map(([, index]) => Number(index));
}

/** The line by which a case can be run again: `npm run test:parity -- --case '…'`. */
export const lineOf = (parityCase: ParityCase): string => JSON.stringify(parityCase);
