/** The steps of a program in this process: each runs, and what it gave or threw is noted. */
import { normalise, type Step } from '../answers.ts';

/** Beyond this a step has failed: what it waits for does not come. */
const LIMIT_MS = 20_000;

export class Notes {
  readonly steps: Step[] = [];

  async step(name: string, work: () => Promise<unknown>): Promise<void> {
    const late = new Promise((_, reject) => {
      AbortSignal.timeout(LIMIT_MS).onabort = () => reject(new Error('not done in time'));
    });
    const answer = await Promise.race([work(), late]).then(textOf, errorOf);
    this.steps.push({ name, answer: normalise(answer) });
  }
}

const textOf = (value: unknown): string => JSON.stringify(value ?? null, shown, 1);

/** Members in the order of their names, and without the owners of fields. */
function shown(name: string, value: unknown): unknown {
  if (name === 'managedFields') return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Code, body and what else an error says, but for headers. */
function errorOf(error: unknown): string {
  const { code, body, message } = error as { code?: unknown; body?: unknown; message?: string };
  const said =
    typeof body === 'string' ? body : body === undefined ? message : JSON.stringify(body);
  return `! ${code ?? ''} ${said?.replace(/\nHeaders: .*/, '').trim()}`;
}
