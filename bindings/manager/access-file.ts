/**
 * Writes the record of what a manager asks to a file, as lines of JSON: each new line at once, so
 * that a program that is killed leaves all of them, and all with their counts at the end.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { environmentVariable } from '../base/environment.ts';
import { invalid } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { type AccessEntry, AccessRecord } from '../client/index.ts';

const VARIABLE = 'CAPSTAN_RECORD_ACCESS';

/**
 * A record that is written to a file, if there is one.
 *
 * @param file the path of the file; default that of CAPSTAN_RECORD_ACCESS, else none
 * @throws CapstanError INVALID_ARGUMENT
 */
export function accessRecord(file: string | undefined): WrittenRecord {
  if (file !== undefined && (typeof file !== 'string' || file === ''))
    throw invalid('options.accessFile', 'the path of a file', file);
  return new WrittenRecord(file ?? (environmentVariable(VARIABLE) || undefined));
}

export class WrittenRecord extends AccessRecord {
  #path: string | undefined;
  /** A later line of a run replaces the one before. */
  readonly #run = randomUUID();

  constructor(path: string | undefined) {
    super();
    this.#path = path;
  }

  /** Writes the counts. */
  end(): void {
    this.#write(this.entries());
  }

  protected override changed(entry: AccessEntry): void {
    this.#write([entry]);
  }

  #write(entries: readonly AccessEntry[]): void {
    const path = this.#path;
    if (path === undefined || entries.length === 0) return;
    const line = (entry: AccessEntry): string => JSON.stringify({ run: this.#run, ...entry });
    try {
      appendFileSync(path, entries.map((entry) => `${line(entry)}\n`).join(''));
    } catch (error) {
      this.#path = undefined;
      handleError(error, `the record of requests in ${path}`);
    }
  }
}
