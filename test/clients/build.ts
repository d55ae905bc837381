/**
 * Builds or installs the clients before the first test, and tells the tests their paths, or why a
 * client is missing. kubectl is built once per version into the user's cache directory.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { installTool } from '../../scripts/install-tool.ts';

/** The program of a client, or why there is none. */
export interface Built {
  path: string;
  missing: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    kubectl: Built;
    'client-go': Built;
    'fluent-client': Built;
  }
}

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');

function run(command: string, args: readonly string[], cwd: string): void {
  const env = { ...process.env, CGO_ENABLED: '0' };
  execFileSync(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** The version of a module in a go.mod: `v1.36.3`. */
function versionIn(folder: string, module: string): string {
  const text = readFileSync(join(folder, 'go.mod'), 'utf8');
  const version = new RegExp(`^\\s*${module} (v[\\d.]+)`, 'm').exec(text)?.[1];
  if (version === undefined) throw new Error(`${folder}/go.mod does not name ${module}`);
  return version;
}

function buildKubectl(): string {
  const folder = at('tools/kubectl');
  const version = versionIn(folder, 'k8s.io/kubernetes');
  const path = join(cache, 'kubectl', version, 'kubectl');
  if (existsSync(path)) return path;
  console.log(`building kubectl ${version} (once, minutes)`);
  const [, minor] = version.split('.');
  const said = { gitVersion: version, gitMajor: '1', gitMinor: minor };
  const flags = Object.entries(said).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  );
  const target = ['-o', path, 'k8s.io/kubernetes/cmd/kubectl'];
  run('go', ['build', '-trimpath', '-ldflags', `-s -w ${flags.join(' ')}`, ...target], folder);
  return path;
}

function buildClientGo(): string {
  const path = at('build/clients/client-go');
  mkdirSync(at('build/clients'), { recursive: true });
  // With the build flags of kubectl, so that shared packages are compiled once.
  run('go', ['build', '-trimpath', '-o', path, '.'], at('tools/client-go'));
  return path;
}

function installFluentClient(): string {
  return join(installTool('fluent-client'), 'main.mjs');
}

function attempt(name: string, make: () => string): Built {
  try {
    return { path: make(), missing: '' };
  } catch (error) {
    const missing = `${name} could not be built: ${(error as Error).message}`;
    if (process.env.CAPSTAN_CLIENTS_REQUIRED !== undefined) throw new Error(missing);
    console.log(`skipped: ${missing}`);
    return { path: '', missing };
  }
}

export default function setup({ provide }: TestProject): void {
  provide('kubectl', attempt('kubectl', buildKubectl));
  provide('client-go', attempt('client-go', buildClientGo));
  provide('fluent-client', attempt('kubernetes-fluent-client', installFluentClient));
}
