/**
 * JSONPath as printer columns use it: names, indices, `[*]`, and filters that compare a member with
 * a value. client-go: util/jsonpath, of which a table shows the first result.
 */

type Step =
  | { readonly name: string }
  | { readonly from: number; readonly to: number | undefined; readonly by: number }
  | { readonly every: true }
  | { readonly member: readonly Step[]; readonly is: Comparison; readonly value: unknown };

type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

const NAME = /\.?((?:\\.|[^.[\]\\])+)/y;
const QUOTED = /\['([^']*)'\]/y;
const ITEMS = /\[(?:\*|(-?\d+)|(-?\d*):(-?\d*)(?::(\d*))?)\]/y;
const FILTER = /\[\?\(\s*@((?:[^=!<>])*?)\s*(==|!=|<=|>=|<|>)\s*('[^']*'|"[^"]*"|[^)]*?)\s*\)\]/y;
const EVERY = /\.\*/y;

/** The first value at a path; undefined if there is none, or the path has something else. */
export function firstAt(object: unknown, path: string): unknown {
  const steps = stepsOf(path);
  return steps === undefined ? undefined : resultsOf(object, steps).next().value;
}

function stepsOf(path: string): Step[] | undefined {
  const steps: Step[] = [];
  for (let from = 0; from < path.length; ) {
    const match = (pattern: RegExp): RegExpExecArray | null => {
      pattern.lastIndex = from;
      const found = pattern.exec(path);
      if (found !== null) from = pattern.lastIndex;
      return found;
    };
    const filter = match(FILTER);
    const items = filter ?? match(ITEMS);
    const quoted = items ?? match(QUOTED);
    const every = quoted ?? match(EVERY);
    const name = every ?? match(NAME);
    if (filter !== null) {
      const member = stepsOf(filter[1] ?? '');
      if (member === undefined) return undefined;
      steps.push({ member, is: filter[2] as Comparison, value: literalOf(filter[3] ?? '') });
    } else if (items !== null) steps.push(itemsStep(items));
    else if (quoted !== null) {
      // Go reads the text in the quotes as names, too: a dot in a name is escaped.
      const names = stepsOf(`.${quoted[1]}`);
      if (names === undefined) return undefined;
      steps.push(...names);
    } else if (every !== null) steps.push({ every: true });
    else if (name !== null) steps.push({ name: (name[1] as string).replaceAll(/\\(.)/g, '$1') });
    else return undefined;
  }
  return steps;
}

/** `[2]`, `[-1:]`, `[0:4:2]` or `[*]`. */
function itemsStep([, index, from, to, by]: RegExpExecArray): Step {
  if (index !== undefined) {
    const end = Number(index) === -1 ? undefined : Number(index) + 1;
    return { from: Number(index), to: end, by: 1 };
  }
  if (from === undefined) return { every: true };
  return { from: Number(from), to: to === '' ? undefined : Number(to), by: Number(by || 1) };
}

function literalOf(text: string): unknown {
  if (/^['"]/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  return Number(text);
}

function* resultsOf(value: unknown, [step, ...rest]: readonly Step[]): Generator<unknown> {
  if (step === undefined) yield value;
  else for (const next of nextOf(value, step)) yield* resultsOf(next, rest);
}

function nextOf(value: unknown, step: Step): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('name' in step)
    return !Array.isArray(value) && Object.hasOwn(value, step.name)
      ? [(value as Record<string, unknown>)[step.name]]
      : [];
  if ('every' in step) return Object.values(value);
  if (!Array.isArray(value)) return [];
  if ('from' in step)
    return value.slice(step.from, step.to).filter((_, at) => at % Math.max(step.by, 1) === 0);
  return value.filter((item) => {
    const { value: member, done } = resultsOf(item, step.member).next();
    return done !== true && compares(member, step.is, step.value);
  });
}

function compares(a: unknown, is: Comparison, b: unknown): boolean {
  if (typeof a !== typeof b) return is === '!=';
  const [left, right] = [a as string | number, b as string | number];
  switch (is) {
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    default:
      return left >= right;
  }
}
