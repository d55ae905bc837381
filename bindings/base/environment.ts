/**
 * The environment: its variables, and the version of Node. A browser has neither, and Deno may
 * refuse to read variables. Imports no Node module.
 */
import { CapstanError } from './errors.ts';

/** `undefined` if it is not set or cannot be read. */
export function environmentVariable(name: string): string | undefined {
  try {
    return globalThis.process?.env?.[name];
  } catch {
    return undefined; // Deno without --allow-env
  }
}

/** Go's strconv.ParseBool, which client-go uses for its switches. Any other text is false. */
export function environmentSwitch(name: string): boolean {
  return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(environmentVariable(name) ?? '');
}

/** The minimum of `engines` in package.json. */
const NEEDED = [22, 19] as const;

/**
 * Throws if this Node is too old. No effect in browsers, Deno and Bun.
 *
 * @param what needs it, such as `capstan/client-node`
 * @throws CapstanError NODE_TOO_OLD
 */
export function requireNode(what: string): void {
  const versions: Record<string, string | undefined> = globalThis.process?.versions ?? {};
  const { node, deno, bun } = versions;
  if (node === undefined || deno !== undefined || bun !== undefined) return;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const [needed, neededMinor] = NEEDED;
  if (major > needed || (major === needed && minor >= neededMinor)) return;
  throw new CapstanError(
    'NODE_TOO_OLD',
    `${what} needs Node ${needed}.${neededMinor} or later, and this is Node ${node}: ` +
      'install a newer one, such as the LTS of https://nodejs.org',
  );
}
