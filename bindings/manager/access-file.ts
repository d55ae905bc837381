/**
 * Writes the access record of a manager to a file, as lines of JSON. A new line is written at once,
 * so that none is lost if the program is killed. At the end all lines are written again, with their
 * counts.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { environmentVariable } from '../base/environment.ts';
import { invalid } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { type AccessEntry, AccessRecord } from '../client/index.ts';

const VARIABLE = 'CAPSTAN_RECORD_ACCESS';

/**
 * An access record that is written to a file if a path is given.
 *
 * @param file the path; default: the environment variable CAPSTAN_RECORD_ACCESS
 * @throws CapstanError INVALID_ARGUMENT
 */
export function accessRecord(file: string | undefined): WrittenRecord {
  if (file !== undefined && (typeof file !== 'string' || file === ''))
    throw invalid('options.accessFile', 'the path of a file', file);
  return new WrittenRecord(file ?? (environmentVariable(VARIABLE) || undefined));
}

export class WrittenRecord extends AccessRecord {
  #path: string | undefined;
  /** A later line of the same run and request replaces the earlier one. */
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
