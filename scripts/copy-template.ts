// Puts the files of a new project beside the compiled command line, which reads them from there.
// What lay there before is gone with it.
import { cpSync, rmSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const to = new URL('dist/bin/template/', root);
rmSync(to, { recursive: true, force: true });
cpSync(new URL('bin/template/', root), to, { recursive: true });
