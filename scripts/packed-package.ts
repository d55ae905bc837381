/** What `npm pack` would put into the package: its files and sizes, by npm itself. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface PackedPackage {
  /** Bytes of the compressed archive. */
  readonly size: number;
  /** Bytes of all files. */
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** Writes nothing. @param folder of the package; default: this repository */
export function packedPackage(folder: string = root): PackedPackage {
  const options = ['--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
  const text = execFileSync('npm', ['pack', ...options], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    maxBuffer: 2 ** 26,
  });
  // An array before npm 12; since then an object by the name of the package.
  const [packed] = Object.values(JSON.parse(text) as Record<string, PackedPackage>);
  if (packed === undefined) throw new Error(`npm pack expected one package, printed ${text}`);
  return packed;
}
