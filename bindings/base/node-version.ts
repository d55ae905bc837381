/** Checks that this Node is new enough, because the errors of an older one name no version. */
import { CapstanError } from './errors.ts';

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
    `${what} needs Node ${needed}.${neededMinor} or later, and this is Node ${node}`,
  );
}
