/** Finds the transport of a client, for requests that a client has no method for: a watch. */
import { invalid } from '../base/errors.ts';
import type { Transport } from '../cache/rest/transport.ts';
import type { Client } from './types.ts';
import { innermost } from './wrapped-client.ts';

const transports = new WeakMap<Client, Transport>();

export function noteTransport(client: Client, transport: Transport): void {
  transports.set(client, transport);
}

/**
 * Returns a transport as it is, and for a client of `newClient` its transport, also behind wrappers
 * and interceptors. Throws CapstanError INVALID_ARGUMENT.
 */
export function transportOf(name: string, from: Client | Transport): Transport {
  if (typeof from === 'object' && from !== null) {
    const known = transports.get(innermost(from as Client));
    if (known !== undefined) return known;
    if (typeof (from as Partial<Transport>).request === 'function') return from as Transport;
  }
  throw invalid(name, 'a transport, or a client of newClient()', from);
}
