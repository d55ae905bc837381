/** The client of these tests: each call is one request, without a cache. */
import type { Transport } from 'capstan/cache';
import { type Client, newClient, withInterceptors } from 'capstan/client';

/** Its methods are its own, so that a test can spread it and put another in place of one. */
export const plainClient = (transport: Transport): Client =>
  withInterceptors(newClient({ transport, fieldOwner: 'test' }), {});
