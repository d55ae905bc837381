/**
 * Makes the JSON Patch (RFC 6902) from one object to another, by the optional peer `rfc6902`. Lists
 * are compared index by index. The library's own comparison takes a time that grows with the
 * product of the lengths, and users choose the lengths.
 */
import type { Operation } from 'rfc6902';
import { CapstanError } from '../base/errors.ts';
import { copyOf, jsonText, parseJson, sameExactJson } from '../base/exact-json.ts';

export type Diff = (before: object, after: object) => object[];

let loading: Promise<Diff> | undefined;

/** Loads the peer. Rejects with CapstanError INVALID_ARGUMENT if it is not installed. */
export function loadDiff(): Promise<Diff> {
  loading ??= import('rfc6902').then(
    ({ createPatch }) => {
      const byIndex = (before: unknown, after: unknown, at: object): Operation[] | undefined => {
        if (!Array.isArray(before) || !Array.isArray(after)) return undefined;
        const path = String(at);
        const patch: Operation[] = [];
        const both = Math.min(before.length, after.length);
        for (let i = 0; i < both; i++)
          if (!sameExactJson(before[i], after[i]))
            for (const operation of createPatch(before[i], after[i], byIndex))
              patch.push({ ...operation, path: `${path}/${i}${operation.path}` } as Operation);
        for (let i = before.length - 1; i >= both; i--)
          patch.push({ op: 'remove', path: `${path}/${i}` });
        for (const value of after.slice(both)) patch.push({ op: 'add', path: `${path}/-`, value });
        return patch;
      };
      return (before, after) => createPatch(before, after, byIndex);
    },
    (cause) => {
      loading = undefined;
      throw new CapstanError(
        'INVALID_ARGUMENT',
        'a defaulter needs the package rfc6902, which makes its JSON Patch: npm install rfc6902',
        { cause },
      );
    },
  );
  return loading;
}

/** A copy of an object, with the exact texts of its numbers. */
export const jsonCopy = (object: object): object => copyOf(object, jsonText(object) as string);

/** The object as JSON has it: without undefined members, and with dates as strings. */
export const asJson = (object: object): unknown => parseJson(jsonText(object) as string);
