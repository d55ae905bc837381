/** Shrinks a failing case: removes steps and members of their bodies as long as it still fails. */
import type { Json } from '../same-answers/api.ts';
import { type ParityCase, type RequestStep, referencesOf } from './case.ts';

/** The maximum number of runs: each needs a namespace on a real server. */
const MOST_RUNS = 60;

/** @param fails whether a case still fails on both servers, in a new namespace */
export async function shrink(
  parityCase: ParityCase,
  fails: (smaller: ParityCase) => Promise<boolean>,
): Promise<ParityCase> {
  let best = parityCase;
  let runs = 0;
  const smaller = async (steps: RequestStep[]): Promise<boolean> => {
    if (runs++ >= MOST_RUNS) return false;
    const candidate = { ...best, steps };
    if (!(await fails(candidate).catch(() => false))) return false;
    best = candidate;
    return true;
  };
  for (let at = best.steps.length - 1; at >= 0; at--) {
    const steps = without(best.steps, at);
    if (steps !== undefined) await smaller(steps);
  }
  for (let at = 0; at < best.steps.length; at++) {
    let shrunk = true;
    while (shrunk && runs < MOST_RUNS) {
      shrunk = false;
      const step = best.steps[at] as RequestStep;
      for (const body of reductions(step.body as Json)) {
        const steps = best.steps.with(at, { ...step, body });
        if (await smaller(steps)) {
          shrunk = true;
          break;
        }
      }
    }
  }
  return best;
}

/** The steps without one of them; undefined if a later one refers to it. */
function without(steps: readonly RequestStep[], at: number): RequestStep[] | undefined {
  if (steps.length === 1 || steps.some((step) => referencesOf(step).includes(at))) return undefined;
  return steps
    .filter((_, index) => index !== at)
    .map((step) =>
      JSON.parse(
        JSON.stringify(step).replaceAll(/\{\{(\d+)\./g, (_, index: string) =>
          Number(index) > at ? `{{${Number(index) - 1}.` : `{{${index}.`,
        ),
      ),
    );
}

/** The value without one member or item each, large ones first. */
function* reductions(value: Json): Generator<Json> {
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) yield value.toSpliced(at, 1);
    for (let at = 0; at < value.length; at++)
      for (const item of reductions(value[at] as Json)) yield value.with(at, item);
  } else if (typeof value === 'object' && value !== null) {
    const names = Object.keys(value).sort(
      (a, b) => JSON.stringify(value[b]).length - JSON.stringify(value[a]).length,
    );
    for (const name of names) {
      if (name === 'apiVersion' || name === 'kind' || name === 'name') continue;
      const { [name]: _, ...rest } = value;
      yield rest;
    }
    for (const name of names)
      for (const member of reductions(value[name] as Json)) yield { ...value, [name]: member };
  }
}
