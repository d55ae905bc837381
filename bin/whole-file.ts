/**
 * Writes a file atomically: to a temporary file that is renamed, so that a failure leaves the old
 * file.
 */
import { randomUUID } from 'node:crypto';
import { chmod, lstat, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CapstanError } from 'capstan/workqueue';
import { attempt } from './attempt.ts';

/**
 * @param option of the command line that has the path, for messages
 * @throws CapstanError INVALID_ARGUMENT if the path is not a file, and for errors of the file
 *   system
 */
export async function writeWhole(path: string, text: string, option = '--out'): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there?.isFile() === false)
    throw new CapstanError('INVALID_ARGUMENT', `${option} expected a file, got ${path}`);
  await attempt(`${path} could not be written`, async () => {
    const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
    // a dangling link: there is no old content to keep
    if (isLink && there === undefined) return writeFile(path, text);
    // write to the target, so that the link stays a link
    const target = isLink ? await realpath(path) : path;
    const beside = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
    try {
      await writeFile(beside, text, { flag: 'wx' });
      if (there !== undefined) await chmod(beside, there.mode);
      await rename(beside, target);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  });
}
