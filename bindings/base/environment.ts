/**
 * Environment variables. A browser has none, and Deno may refuse to read them. Imports no Node
 * module.
 */

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
