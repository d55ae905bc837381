/**
 * The storage of the provisioner and its image, as far as they can be tested without a container
 * runtime.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Directories } from '../../examples/provisioner/directories.ts';

const place = mkdtempSync(join(tmpdir(), 'capstan-storage-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

// `npm init -y` of npm 11 writes "type": "commonjs", with which Node rejects `import`: the image
// was built, and its program did not start.
test.skipIf(process.platform === 'win32')('the package of the image has ES modules', () => {
  const readme = readFileSync(
    new URL('../../examples/provisioner/README.md', import.meta.url),
    'utf8',
  );
  const [, commands = ''] = /^ +RUN (.*) && npm install /m.exec(readme) ?? [];
  expect(commands).toMatch(/^npm init -y/);
  execFileSync('sh', ['-c', commands], { cwd: place, stdio: 'ignore' });
  expect(JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))).toMatchObject({
    type: 'module',
  });
});

// Directories had the mode of root's umask, 0755: Pods of other users could not write into their
// own volume.
test.skipIf(process.platform === 'win32')(
  'every user can write into the directory of a volume',
  async () => {
    const storage = new Directories(join(place, 'volumes'));
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace: 'a',
      name: 'b',
      uid: '1',
    } as const;
    for (const time of ['made', 'made again']) {
      await storage.begin('pvc-1', claim);
      expect(statSync(storage.pathOf('pvc-1')).mode & 0o777, time).toBe(0o777);
    }
  },
);
