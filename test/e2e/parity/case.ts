/**
 * A parity case: requests that are sent in order to the embedded and to a real API server. It is
 * plain JSON on one line, so that a failing case can be printed and run again.
 */
import { createHash } from 'node:crypto';

/** One request. */
export interface RequestStep {
  method: string;
  /**
   * With its query. `NS` stands for the namespace of the case, in bodies too; `NS::` for the prefix
   * of an IPv6 address that is unique to the namespace.
   */
  path: string;
  /** A string is sent unchanged; anything else as JSON. */
  body?: unknown;
  /** The Content-Type; by default `application/json` if there is a body. */
  type?: string;
  accept?: string;
  headers?: Record<string, string>;
  /** The stream is opened here and read to its end after the later steps. */
  watch?: true;
  /** The request is repeated until it has this status: a definition takes a while. */
  until?: number;
}

export interface ParityCase {
  /** The subject of the case; results are counted by group. */
  group: string;
  steps: readonly RequestStep[];
}

/** `{{0.metadata.uid}}`: a member of the response to the first step. */
const REFERENCE = /\{\{(\d+)\.([^}]+)\}\}/g;

/** Replaces the namespace and the references to earlier responses in a text of a step. */
export function filledIn(text: string, namespace: string, answers: readonly unknown[]): string {
  return text
    .replaceAll(/\bNS::/g, addressesOf(namespace))
    .replaceAll(/\bNS\b/g, namespace)
    .replaceAll(REFERENCE, (_, step: string, path: string) =>
      String(memberAt(answers[Number(step)], path) ?? ''),
    );
}

/** A prefix of IPv6 addresses unique to the namespace: `2001:db8:1a2b:3c4d::`. */
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

/** The steps whose responses a step refers to. */
export function referencesOf(step: RequestStep): number[] {
  return [...JSON.stringify(step).matchAll(REFERENCE)].map(([, index]) => Number(index));
}

/** The text by which a case can be run again: `npm run test:parity -- --case '…'`. */
export const lineOf = (parityCase: ParityCase): string => JSON.stringify(parityCase);
