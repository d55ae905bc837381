/**
 * A file that is written as a whole or stays as it was: whatever fails, fails before the file has
 * its name.
 */
import { randomUUID } from 'node:crypto';
import { chmod, lstat, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CapstanError } from 'capstan';
import { attempt } from './attempt.ts';

/**
 * @throws CapstanError INVALID_ARGUMENT for what is there and is no file, and for what the file
 * system refuses
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there?.isFile() === false)
    throw new CapstanError('INVALID_ARGUMENT', `--out expected a file, got ${path}`);
  await attempt(`${path} could not be written`, async () => {
    const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
    // to nothing yet: there is nothing to lose
    if (isLink && there === undefined) return writeFile(path, text);
    const target = isLink ? await realpath(path) : path; // a link stays one
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
