/** Answers that are not streams: documents, errors, and results of writes with their warnings. */

import { type JsonObject, readJson } from '../json.ts';
import type { Written } from '../registry/warnings.ts';
import { addWarnings } from '../registry/warnings.ts';
import type { Incoming } from '../request/body.ts';
import type { ApiError } from '../status.ts';
import { type AnswerShape, wantsYaml, YAML } from './media-types.ts';
import type { Headers } from './output.ts';
import { type View, wholeObjects } from './views.ts';
import { yamlOfJson } from './yaml.ts';

export const withWarnings = (answer: Answer, warnings: readonly string[]): Answer =>
  warnings.length === 0
    ? answer
    : { ...answer, warnings: [...warnings, ...(answer.warnings ?? [])] };

/** Converts a JSON answer to YAML if the client asks for it. */
export async function inAcceptedFormat(request: Incoming, answer: Answer): Promise<Answer> {
  const isYaml = answer.type === 'application/json' && wantsYaml(request.headers.accept);
  return isYaml ? { ...answer, type: YAML, body: await yamlOfJson(answer.body) } : answer;
}

/** An answer that is not a stream. */
export interface Answer {
  code: number;
  type: string;
  body: string;
  retryAfter?: number;
  warnings?: readonly string[];
  /** Added to the headers that every answer has, or in place of them. */
  headers?: Headers;
}

export const jsonAnswer = (code: number, body: string): Answer => ({
  code,
  type: 'application/json',
  body,
});
export const textAnswer = (code: number, body: string): Answer => ({
  code,
  type: 'text/plain; charset=utf-8',
  body,
});

export function failure(error: ApiError): Answer {
  const retryAfter = error.body.details?.retryAfterSeconds;
  const { warnings } = error;
  return {
    ...jsonAnswer(error.code, JSON.stringify(error.body)),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/**
 * Runs a write. Its warnings are sent with the answer, also when the write fails.
 *
 * @param view of the resulting object; a Status, and an answer without a view, are sent unchanged
 */
export function answer(
  write: () => Written,
  warnings: readonly string[],
  view?: (shape: AnswerShape) => View,
): Answer {
  const written = addWarnings(warnings, () => {
    const result = write();
    return view === undefined
      ? result
      : addWarnings(result.warnings ?? [], () => ({
          code: result.code,
          json: encodedBy(view, result.json),
        }));
  });
  const { code, json: text, warnings: all = [] } = written;
  return { ...jsonAnswer(code, text), ...(all.length > 0 ? { warnings: all } : {}) };
}

function encodedBy(view: (shape: AnswerShape) => View, json: string): string {
  if (json.startsWith('{"kind":"Status",')) return json;
  const form = view('object');
  return form === wholeObjects ? json : form.object({ object: readJson(json) as JsonObject, json });
}
