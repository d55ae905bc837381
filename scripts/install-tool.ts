/** Installs the packages of a folder in tools/, once for each lock file. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The path of the folder, with its packages installed. */
export function installTool(name: string): string {
  const folder = fileURLToPath(new URL(`../tools/${name}`, import.meta.url));
  const lock = readFileSync(`${folder}/package-lock.json`, 'utf8');
  const stamp = `${folder}/node_modules/.installed-lock.json`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return folder;
  console.error(`npm ci in tools/${name}`);
  const { status } = spawnSync('npm', ['ci', '--loglevel=error', '--no-audit'], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`npm ci failed in tools/${name}: see above`);
  writeFileSync(stamp, lock);
  return folder;
}
