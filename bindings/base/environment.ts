/**
 * Environment variables, where the host has them: there are none in a browser, and Deno may refuse
 * to read one. Nothing here asks for a module of Node's.
 */

/** `undefined` where it is not set, or cannot be known. */
export function environmentVariable(name: string): string | undefined {
  try {
    return globalThis.process?.env?.[name];
  } catch {
    return undefined; // Deno without --allow-env
  }
}

/** As Go's strconv.ParseBool, which client-go reads its switches with; anything else is false. */
export function environmentSwitch(name: string): boolean {
  return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(environmentVariable(name) ?? '');
}
