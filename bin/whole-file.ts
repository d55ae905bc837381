/** A file that is written as a whole or stays as it was: whatever fails, fails before the file has its name. */
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CapstanError } from 'capstan';
import { attempt } from './attempt.ts';

/** @throws CapstanError INVALID_ARGUMENT for what is there and is no file, and for what the file system refuses */
export async function writeWhole(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path); // a link stays one
  const there = await stat(target).catch(() => undefined);
  if (there?.isFile() === false) throw new CapstanError('INVALID_ARGUMENT', `--out expected a file, got ${path}`);
  const beside = join(dirname(target), `.${basename(target)}.${process.pid}`);
  await attempt(`${path} could not be written`, async () => {
    try {
      await writeFile(beside, text, { flag: 'wx' });
      await rename(beside, target);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  });
}
