// Puts the files of a new project and of a new kind beside the compiled command line, which reads
// them from there. Older files there are removed.
import { cpSync, rmSync } from 'node:fs';

const root = new URL('../', import.meta.url);
for (const folder of ['template', 'template-kind']) {
  const to = new URL(`dist/bin/${folder}/`, root);
  rmSync(to, { recursive: true, force: true });
  cpSync(new URL(`bin/${folder}/`, root), to, { recursive: true });
}
