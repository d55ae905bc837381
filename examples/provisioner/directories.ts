/**
 * The storage: one directory per volume, below a root. Invariant, also after a crash: a directory
 * whose PersistentVolume may not exist yet has a note file beside it that names its claim. A
 * directory without a note is never treated as an orphan, so that the data of a retained volume
 * outlives its PersistentVolume.
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

  /**
   * The path of a volume's directory. Throws for a name that would be a path outside of the root.
   */
  pathOf(volume: string): string {
    return join(this.#root, checked(volume));
  }

  /** Writes the note, then creates the directory. Idempotent. */
  async begin(volume: string, claim: ClaimReference): Promise<void> {
    const note = this.#noteOf(volume);
    await mkdir(join(this.#root, NOTES), { recursive: true });
    await writeFile(`${note}.tmp`, JSON.stringify(claim));
    await rename(`${note}.tmp`, note); // the note is written atomically
    await mkdir(this.pathOf(volume), { recursive: true });
    // For Pods of any user, because fsGroup is not applied to hostPath. mkdir's mode is masked by
    // the umask.
    await chmod(this.pathOf(volume), 0o777);
  }

  /** Removes the note: the PersistentVolume exists and decides from now on. */
  async finish(volume: string): Promise<void> {
    await rm(this.#noteOf(volume), { force: true });
  }

  /** Removes the directory with its content, then the note. Idempotent. */
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
