/** Runs the steps of a program in this process, and records what each returned or threw. */
import { type ClientStep, normaliseOutput } from '../answers.ts';

/** Milliseconds after which a step has failed, because what it waits for does not come. */
const LIMIT_MS = 20_000;

export class Notes {
  readonly steps: ClientStep[] = [];

  async step(name: string, work: () => Promise<unknown>): Promise<void> {
    const late = new Promise((_, reject) => {
      AbortSignal.timeout(LIMIT_MS).onabort = () => reject(new Error('not done in time'));
    });
    const answer = await Promise.race([work(), late]).then(textOf, errorOf);
    this.steps.push({ name, answer: normaliseOutput(answer) });
  }
}

const textOf = (value: unknown): string => JSON.stringify(value ?? null, shown, 1);

/** Members sorted by name, without managedFields. */
function shown(name: string, value: unknown): unknown {
  if (name === 'managedFields') return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The code, body and message of an error, without headers. */
function errorOf(error: unknown): string {
  const { code, body, message } = error as { code?: unknown; body?: unknown; message?: string };
  const said =
    typeof body === 'string' ? body : body === undefined ? message : JSON.stringify(body);
  return `! ${code ?? ''} ${said?.replace(/\nHeaders: .*/, '').trim()}`;
}
