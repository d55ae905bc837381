/**
 * The text of a body, with the digits that the server sent for integers beyond 2^53. JavaScript
 * rounds them. Objects that this process parsed keep the text of their numbers (exact-json.ts);
 * objects from a cache, copies and new objects do not. For these the object is read from the
 * server, and a number that this does not tell is refused.
 */

import { CapstanError } from '../base/errors.ts';
import {
  jsonText,
  mayBeRounded,
  type NumberAt,
  type NumberTexts,
  numbersIn,
  sameExactJson,
} from '../base/exact-json.ts';
import type { KubeObject } from '../base/object.ts';
import { StatusError } from '../cache/rest/status-error.ts';
import { requireJsonText } from './paths.ts';

/** A body as text. */
export interface Body {
  readonly what: string;
  readonly value: object;
  readonly text: string;
  /** Numbers that may have been rounded. */
  readonly doubts: readonly NumberAt[];
}

/**
 * Finds numbers that may have been rounded, and null, which stands for a number that JSON cannot
 * express.
 */
const SUSPECT = /[:,[](?:null|-?\d{16})/;

/** Throws CapstanError INVALID_ARGUMENT for a value that JSON cannot express, such as NaN. */
export function bodyFor(what: string, value: object): Body {
  const text = requireJsonText(what, value);
  if (!SUSPECT.test(text)) return { what, value, text, doubts: [] };
  const unknown = numbersIn(value).filter(({ text }) => text === undefined);
  const wrong = unknown.find((number) => !Number.isFinite(number.value));
  if (wrong !== undefined)
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"${pathOf(what, wrong)}" expected a number that JSON can say, got ${wrong.value}`,
    );
  return { what, value, text, doubts: unknown.filter((number) => mayBeRounded(number.value)) };
}

/** Whether an object has integers that may have been rounded. */
export const isDoubtful = (object: object): boolean => bodyFor('object', object).doubts.length > 0;

/**
 * The text of a body in which a rounded number gets the digits that the server has: at the same
 * place, or at the only place whose number is the same to JavaScript.
 *
 * @param current what the server has, as it came; undefined: nothing
 * @throws CapstanError INVALID_ARGUMENT for a number that the server does not have; StatusError of
 *   reason Conflict where it has another version of the object
 */
export function settled(
  { what, value, doubts }: Body,
  current: object | undefined,
  cause?: unknown,
): string {
  const there = current === undefined ? [] : numbersIn(current);
  requireSameVersion(value, current);
  const known: NumberTexts = new WeakMap();
  for (const doubt of doubts) {
    const same = there.filter((number) => number.value === doubt.value);
    const texts = new Set(same.map(textOf));
    const [only] = texts;
    const at = same.find(({ path }) => path.join('\0') === doubt.path.join('\0'));
    const text =
      texts.size === 1 ? only : at && isInPlace(doubt, value, current) ? textOf(at) : undefined;
    if (text === undefined)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `"${pathOf(what, doubt)}" expected an integer of which it is known that it was ` +
          `not rounded, got ${doubt.value}: JavaScript rounds integers beyond 2^53. Pass ` +
          'it as a BigInt, or use a patch without this member',
        { cause },
      );
    const ofHolder = known.get(doubt.holder) ?? new Map<string, string>();
    known.set(doubt.holder, ofHolder.set(doubt.name, text));
  }
  return jsonText(value, known) as string;
}

/**
 * An object of another version has other numbers. The server would answer the update with a
 * conflict.
 */
function requireSameVersion(value: KubeObject, current: KubeObject | undefined): void {
  const version = value.metadata?.resourceVersion;
  const now = current?.metadata?.resourceVersion;
  if (!version || now === undefined || version === now) return;
  const message =
    'the object has been modified: it was read at version ' +
    `${version}, and is at ${now}; read it again`;
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Conflict' };
  throw new StatusError(
    409,
    { ...status, code: 409, message },
    'a look at the object to be written',
  );
}

const textOf = ({ text, value }: NumberAt): string => text ?? String(value);

/** A place in a list is the same only if the list is the same, or has grown at its end. */
function isInPlace({ path }: NumberAt, value: unknown, current: unknown): boolean {
  let [now, before] = [value, current];
  for (const name of path) {
    if (Array.isArray(now)) {
      const list: readonly unknown[] = now;
      return Array.isArray(before) && before.every((each, i) => sameExactJson(each, list[i]));
    }
    now = (now as Record<string, unknown>)[name];
    before = (before as Record<string, unknown>)[name];
  }
  return true;
}

const pathOf = (what: string, { path }: NumberAt): string => [what, ...path].join('.');
