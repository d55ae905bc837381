/**
 * Parses the addresses that servers listen on, with Go's syntax: `:8080` is port 8080 of every
 * interface, `127.0.0.1:0` a free port of loopback, `[::1]:8081` an IPv6 address; `0` or an empty
 * string means no server. Go: net.Listen; controller-runtime: metrics/server Options.BindAddress.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { invalid } from '../base/errors.ts';

export interface BindAddress {
  /** `undefined`: every interface. */
  readonly host: string | undefined;
  readonly port: number;
}

/** Returns `undefined` for no server. Throws CapstanError INVALID_ARGUMENT. */
export function parseBindAddress(name: string, address: unknown): BindAddress | undefined {
  if (address === undefined || address === '' || address === '0') return undefined;
  const match =
    typeof address === 'string' ? /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address) : null;
  const port = Number(match?.[3]);
  const bracketed = match?.[1];
  if (match === null || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) {
    throw invalid(
      name,
      'an address such as ":8080", "127.0.0.1:8080" or "[::1]:8080", or "0" for none',
      address,
    );
  }
  const host = bracketed ?? match[2];
  return { host: host === '' ? undefined : host, port };
}

/**
 * Whether a host name or address is one of loopback, which only processes of this machine can
 * reach.
 */
export function isLoopback(host: string | undefined): boolean {
  if (host === undefined) return false;
  const address = host.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
  if (isIP(address) === 0) return address === 'localhost' || address.endsWith('.localhost');
  return isIPv4(address) ? address.startsWith('127.') : /^(0*:){2,7}0*1$/.test(address);
}
