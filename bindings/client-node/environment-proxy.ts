/**
 * The proxy that the environment names for a server: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, as
 * Go reads them. golang.org/x/net/http/httpproxy.
 */
import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { proxyURL } from './proxy.ts';
import { hostOf } from './tls.ts';

/** Such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for requests to `server`; undefined if they go straight. As in Go a server on this
 * machine has none, and `ALL_PROXY` is not read.
 *
 * @throws CapstanError INVALID_ARGUMENT for a value that is no URL of a proxy, which Go ignores
 */
export function environmentProxy(server: URL, env: Environment): URL | undefined {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const given = either(name, env);
  if (given === '') return undefined;
  const proxy = proxyURL(given.includes('://') ? given : `http://${given}`, name);
  return goesStraight(server, either('NO_PROXY', env)) ? undefined : proxy;
}

function either(name: string, env: Environment): string {
  return env[name] || env[name.toLowerCase()] || '';
}

function goesStraight(server: URL, noProxy: string): boolean {
  const host = unmapped(hostOf(server).toLowerCase());
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  if (host === 'localhost' || host === '::1' || holds(networkAt('127.0.0.0', 8), host)) return true;
  return noProxy.split(',').some((entry) => excludes(entry.trim().toLowerCase(), host, port));
}

/** Whether an entry of NO_PROXY names the server. */
function excludes(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const network = networkOf(entry);
  if (network !== undefined) return holds(network, host);
  const [name, onPort] = isIP(entry) === 0 ? portOf(entry) : [entry, ''];
  if (name === '' || (onPort !== '' && onPort !== port)) return false;
  if (isIP(name) !== 0) {
    const address = unmapped(name);
    return holds(networkAt(address, isIP(address) === 4 ? 32 : 128), host);
  }
  // "example.com" is the host and all below it, ".example.com" and "*.example.com" those below it.
  const domain = name.replace(/^\*(?=\.)/, '');
  const suffix = asciiOf(domain.startsWith('.') ? domain : `.${domain}`);
  return host.endsWith(suffix) || (!domain.startsWith('.') && `.${host}` === suffix);
}

/** An entry without its port, and the port. Go: net.SplitHostPort. */
function portOf(entry: string): [name: string, port: string] {
  const [, bracketed, plain, port = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*)):(.*)$/.exec(entry) ?? [];
  const name = bracketed ?? plain;
  return name === undefined ? [entry.replace(/^\[(.*)\]$/, '$1'), ''] : [name, port];
}

/** Go: golang.org/x/net/idna ToASCII, which leaves ASCII as it is. */
function asciiOf(suffix: string): string {
  return /[^\0-\x7f]/.test(suffix) ? `.${domainToASCII(suffix.slice(1))}` : suffix;
}

function networkOf(entry: string): Network | undefined {
  const [, given = '', bits = ''] = /^([^/]+)\/(\d+)$/.exec(entry) ?? [];
  if (isIP(given) === 0 || Number(bits) > (isIP(given) === 4 ? 32 : 128)) return undefined;
  const address = unmapped(given);
  const length = Number(bits) - (address === given ? 0 : 96);
  return networkAt(address, Math.max(length, 0));
}

interface Network {
  readonly family: number;
  readonly list: BlockList;
}

function networkAt(address: string, bits: number): Network {
  const family = isIP(address);
  const list = new BlockList();
  list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  return { family, list };
}

/** An IPv4 address that is written as one of IPv6 is one of IPv4, as for Go's net.IP. */
function unmapped(address: string): string {
  if (isIP(address) !== 6) return address;
  const { hostname } = new URL(`http://[${address}]`);
  const [, high, low] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return address;
  const words = [high, low].map((word) => Number.parseInt(word, 16));
  return words.flatMap((word) => [word >> 8, word & 255]).join('.');
}

/** A network of IPv6 holds no address of IPv4, unlike a BlockList's. */
function holds({ family, list }: Network, address: string): boolean {
  return isIP(address) === family && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
