/** Recorded traces as files: finds them, reads them and replays them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type ReplayOptions, type Report, replayTexts, type TraceSubject } from './runner.ts';

/** All `.jsonl` files of a folder and of the folders in it, sorted. */
export function vectorFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .sort();
}

/** Each file's path within the folder and its text; read one at a time. */
function* textsOf(folder: string): Iterable<readonly [file: string, text: string]> {
  for (const path of vectorFiles(folder))
    yield [relative(folder, path), readFileSync(path, 'utf8')];
}

/**
 * Replays every file of a folder. Subjects that are not in `subjects` are counted as not covered.
 */
export function replayFolder(
  folder: string,
  subjects: ReadonlyMap<string, TraceSubject>,
  options: ReplayOptions = { form: 'string' },
): Promise<Report> {
  return replayTexts(textsOf(folder), subjects, options);
}
