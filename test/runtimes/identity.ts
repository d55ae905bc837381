/**
 * Identifies the host: a suite that ran on another runtime than the intended one has proved
 * nothing.
 */

interface Host {
  readonly Deno?: { readonly version: { readonly deno: string } };
  readonly Bun?: { readonly version: string };
  readonly process?: { readonly versions?: { readonly node?: string } };
  readonly navigator?: { readonly userAgent?: string };
}

/**
 * The runtime and its version. Deno, Bun and workerd claim to be Node as well, so Node comes last.
 */
export function identify(host: Host = globalThis as Host): {
  readonly name: string;
  readonly version: string;
} {
  const agent = host.navigator?.userAgent ?? '';
  const node = host.process?.versions?.node;
  const chrome = /\b(?:Headless)?Chrome\/([\d.]+)/.exec(agent)?.[1];
  if (host.Deno !== undefined) return { name: 'deno', version: host.Deno.version.deno };
  if (host.Bun !== undefined) return { name: 'bun', version: host.Bun.version };
  // it does not report its version
  if (agent === 'Cloudflare-Workers') return { name: 'workerd', version: '' };
  if (chrome !== undefined) return { name: 'chromium', version: chrome };
  if (node !== undefined) return { name: `node-${node.split('.')[0]}`, version: node };
  return { name: 'unknown runtime', version: agent };
}

/** @throws Error where this is not `expected` */
export function assertRuntime(expected: string): string {
  const { name, version } = identify();
  if (name !== expected)
    throw new Error(`expected to run on ${expected}, but this is ${name} ${version}`);
  return version;
}
