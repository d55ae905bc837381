/**
 * The reference documentation, from the docstrings of what the package's subpaths export, as static
 * files in build/docs. `npm run docs:site` puts them beside the pages of docs/.
 *
 * typedoc reads programs through the compiler's JavaScript interface, which TypeScript 7 does not
 * have. So it has a folder and a lock file of its own, tools/docs, with the last TypeScript that
 * has one; that reads the same sources, and types are judged by `tsc` alone. Every warning fails: a
 * link that leads nowhere, an export without a docstring.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { installTool } from './install-tool.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = `${root}build/docs`;

/** The parts of typedoc that are used. Its own types exist only after it is installed. */
interface Typedoc {
  Application: { bootstrapWithPlugins(options: Record<string, unknown>): Promise<App> };
  ReflectionKind: { Module: number };
}

interface App {
  convert(): Promise<Project | undefined>;
  validate(project: Project): void;
  generateOutputs(project: Project): Promise<void>;
  readonly logger: { warn(message: string): void; errorCount: number; warningCount: number };
}

interface Project {
  getReflectionsByKind(kind: number): Declaration[];
}

interface Declaration {
  name: string;
  readonly children?: Declaration[];
  readonly signatures?: { hasComment(): boolean }[];
  hasComment(): boolean;
  isReference(): boolean;
}

const tools = installTool('docs');
const typedoc = pathToFileURL(`${tools}/node_modules/typedoc/dist/index.js`).href;
const { Application, ReflectionKind } = (await import(typedoc)) as Typedoc;

const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  exports: Record<string, unknown>;
};
/** All but `.`, which repeats three of them. */
const subpaths = Object.keys(exports).flatMap((name) => /^\.\/([a-z-]+)$/.exec(name)?.[1] ?? []);
const app = await Application.bootstrapWithPlugins({
  name: 'Capstan',
  entryPoints: subpaths.map((subpath) => `${root}bindings/${subpath}/index.ts`),
  tsconfig: `${root}tsconfig.build.json`,
  skipErrorChecking: true,
  basePath: `${root}bindings`,
  readme: 'none', // the pages of docs/ are the site's
  out,
  highlightLanguages: ['ts', 'go', 'sh', 'json', 'yaml'],
  includeVersion: true,
  disableSources: true,
  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  // typedoc links types that extend an internal interface to a page that does not exist
  includeHierarchySummary: false,
  logLevel: 'Warn',
  validation: {
    invalidLink: true,
    rewrittenLink: true,
    notExported: false,
    unusedMergeModuleWith: true,
  },
});
const project = await app.convert();
if (project === undefined) throw new Error('typedoc could not read the sources: see above');
app.validate(project);

let count = 0;
for (const subpath of project.getReflectionsByKind(ReflectionKind.Module)) {
  subpath.name = `capstan/${subpath.name}`; // as it is imported
  for (const exported of subpath.children ?? []) {
    if (exported.isReference()) continue; // documented where it is declared
    count++;
    const isDocumented =
      exported.hasComment() || exported.signatures?.some((signature) => signature.hasComment());
    if (!isDocumented)
      app.logger.warn(`${subpath.name} exports ${exported.name}, which has no docstring`);
  }
}

await app.generateOutputs(project);
const { errorCount, warningCount } = app.logger;
console.log(
  `${count} exports of ${subpaths.length} subpaths are in build/docs; ` +
    `${errorCount + warningCount} problems`,
);
if (errorCount + warningCount > 0) process.exitCode = 1;
