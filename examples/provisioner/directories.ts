/**
 * The storage: one directory for each volume, below a root. Invariant, whenever the process
 * is killed: a directory whose volume may not be in the API yet has a note beside it that
 * says for which claim it was made. Without a note nothing is ever taken for an orphan, so that the
 * data of a retained volume outlives its PersistentVolume.
 */
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ClaimReference } from './resources.ts';

const NOTES = '.unfinished';

export class Directories {
  readonly #root: string;

  constructor(root: string) {
    this.#root = resolve(root);
  }

  /** Where the directory of a volume is. Throws for a name that could lead anywhere else. */
  pathOf(volume: string): string {
    return join(this.#root, checked(volume));
  }

  /** Makes the directory, and before that the note. Again: no effect. */
  async begin(volume: string, claim: ClaimReference): Promise<void> {
    const note = this.#noteOf(volume);
    await mkdir(join(this.#root, NOTES), { recursive: true });
    await writeFile(`${note}.tmp`, JSON.stringify(claim));
    await rename(`${note}.tmp`, note); // a note is there as a whole or not at all
    await mkdir(this.pathOf(volume), { recursive: true });
    // For Pods of any user: fsGroup is not applied to hostPath. Not by mkdir, whose mode the umask
    // narrows.
    await chmod(this.pathOf(volume), 0o777);
  }

  /** The volume is in the API: from now on that alone decides. */
  async finish(volume: string): Promise<void> {
    await rm(this.#noteOf(volume), { force: true });
  }

  /** Removes the directory with all that is in it, and the note last. Again: no effect. */
  async remove(volume: string): Promise<void> {
    await rm(this.pathOf(volume), { recursive: true, force: true });
    await this.finish(volume);
  }

  /** The claim for which an unfinished directory was made. */
  async noteOf(volume: string): Promise<ClaimReference | undefined> {
    try {
      return JSON.parse(await readFile(this.#noteOf(volume), 'utf8')) as ClaimReference;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** The claims of all unfinished directories. */
  async unfinished(): Promise<ClaimReference[]> {
    await mkdir(join(this.#root, NOTES), { recursive: true });
    const names = (await readdir(join(this.#root, NOTES))).filter((name) => !name.endsWith('.tmp'));
    const notes = await Promise.all(names.map((name) => this.noteOf(name)));
    return notes.filter((note) => note !== undefined);
  }

  #noteOf(volume: string): string {
    return join(this.#root, NOTES, checked(volume));
  }
}

function checked(volume: string): string {
  if (!/^[a-z0-9][-a-z0-9]*$/.test(volume))
    throw new Error(`expected the name of a volume, got ${JSON.stringify(volume)}`);
  return volume;
}
