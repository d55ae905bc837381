// Writes the version of package.json into bindings/generated/: a bundle has no package.json beside
// it, or that of the application.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  version: string;
};
const out = new URL('bindings/generated/', root);
mkdirSync(out, { recursive: true });
writeFileSync(
  new URL('version.ts', out),
  `// Generated from package.json by scripts/embed-version.ts. Do not edit.
export const version: string = ${JSON.stringify(version)};
`,
);
