/**
 * Decides who may see the live page. It shows the names of objects and their errors, so by default
 * it serves only this machine and `kubectl port-forward`: both ends of the connection are loopback
 * addresses, no header says that a proxy forwarded the request, and the Host is local.
 *
 * The check of the Host prevents DNS rebinding: an attacker's page whose name resolves to 127.0.0.1
 * after it was loaded has the same origin for the browser, but its name is in the Host header.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from '../bind-address.ts';

export interface PageAccess {
  readonly allowRemote: boolean;
  /** In lower case. */
  readonly hosts: ReadonlySet<string>;
}

/** Headers of proxies. A forwarded request comes from elsewhere although it arrives on loopback. */
const FORWARDED = /^(?:forwarded|via|x-real-ip|x-(?:forwarded|envoy)-.*)$/;

/** Why a request is refused, as the text of the response. `undefined` if it is allowed. */
export function refusal(
  request: IncomingMessage,
  { allowRemote, hosts }: PageAccess,
): string | undefined {
  const { localAddress, remoteAddress } = request.socket;
  if (!allowRemote) {
    if (
      !isLoopback(localAddress) ||
      !isLoopback(remoteAddress) ||
      Object.keys(request.headers).some((name) => FORWARDED.test(name))
    )
      return (
        'The live page answers to loopback connections only. ' +
        'Use kubectl port-forward, or set the option allowRemote.'
      );
  }
  const host = hostOf(request.headers.host);
  if (host === undefined || !isKnown(host, allowRemote, hosts)) {
    return (
      'The live page expected a Host that is localhost, an IP address or one of the option ' +
      'hosts. Open it by one of those.'
    );
  }
  const site = request.headers['sec-fetch-site'];
  const navigates = request.headers['sec-fetch-mode'] === 'navigate';
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !navigates)
    return 'The live page answers to its own requests only, not to those of other sites.';
  return undefined;
}

function isKnown(host: string, allowRemote: boolean, hosts: ReadonlySet<string>): boolean {
  if (host === 'localhost' || host.endsWith('.localhost') || hosts.has(host)) return true;
  return isIP(host) !== 0 && (allowRemote || isLoopback(host));
}

/** The name or address of a `Host` header, in lower case, without port and brackets. */
function hostOf(header: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/@[\]]+))(?::\d{1,5})?$/i.exec(header ?? '');
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, '');
}
