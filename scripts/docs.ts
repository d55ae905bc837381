/**
 * The reference documentation, from the docstrings of what the package's subpaths export, with the guides beside it: build/docs, static files.
 *
 * typedoc reads programs through the compiler's JavaScript interface, which TypeScript 7 does not have: wherever it asks for `typescript` it gets
 * TypeScript 6, which reads the same sources. Types are judged by `tsc` alone. Every warning fails: a link that leads nowhere, an export
 * without a docstring.
 */
import { globSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-6' : specifier, context),
});
const { Application, ReflectionKind } = await import('typedoc');

const root = fileURLToPath(new URL('..', import.meta.url));
const out = `${root}build/docs`;
const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { exports: Record<string, unknown> };
/** All but `.`, which repeats three of them. */
const subpaths = Object.keys(exports).flatMap((name) => /^\.\/([a-z-]+)$/.exec(name)?.[1] ?? []);
const guides = globSync('docs/guide-*.md', { cwd: root })
  .sort()
  .map((file) => `${root}${file}`);

const app = await Application.bootstrapWithPlugins({
  name: 'Capstan',
  entryPoints: subpaths.map((subpath) => `${root}bindings/${subpath}/index.ts`),
  tsconfig: `${root}tsconfig.build.json`,
  skipErrorChecking: true,
  basePath: `${root}bindings`,
  readme: `${root}README.md`,
  projectDocuments: guides,
  out,
  highlightLanguages: ['ts', 'go', 'sh', 'json', 'yaml'],
  includeVersion: true,
  disableSources: true,
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  logLevel: 'Warn',
  validation: { invalidLink: true, rewrittenLink: true, notExported: false, unusedMergeModuleWith: true },
});
const project = await app.convert();
if (project === undefined) throw new Error('typedoc could not read the sources: see above');
app.validate(project);

for (const [at, guide] of (project.documents ?? []).entries()) {
  guide.name = /^# (.+)/.exec(readFileSync(guides[at] as string, 'utf8'))?.[1] ?? guide.name;
}
let count = 0;
for (const subpath of project.getReflectionsByKind(ReflectionKind.Module)) {
  if (!subpath.isDeclaration()) continue;
  subpath.name = `capstan/${subpath.name}`; // as it is imported
  for (const exported of subpath.children ?? []) {
    if (exported.isReference()) continue; // documented where it is declared
    count++;
    const isDocumented = exported.hasComment() || exported.signatures?.some((signature) => signature.hasComment());
    if (!isDocumented) app.logger.warn(`${subpath.name} exports ${exported.name}, which has no docstring`);
  }
}

await app.generateOutputs(project);
const { errorCount, warningCount } = app.logger;
console.log(
  `${count} exports of ${subpaths.length} subpaths documented in build/docs, ${errorCount + warningCount} problems`,
);
if (errorCount + warningCount > 0) process.exitCode = 1;
