/** Creates a ServiceAccount and a token for it. */
import { requireObject, requireString } from '../../base/errors.ts';
import { isAlreadyExists } from '../../client/status-errors.ts';
import type { Client } from '../../client/types.ts';
import { serviceAccountName } from '../server/auth/users.ts';

const CORE = { group: '', version: 'v1', indexers: {} };
const NAMESPACES = { ...CORE, kind: 'Namespace', plural: 'namespaces', namespaced: false };
const ACCOUNTS = { ...CORE, kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true };
/** How long the token is valid, in seconds. */
const LIFETIME = 3600;

/**
 * Creates the ServiceAccount and its namespace, unless they exist.
 *
 * @returns the name of the user, and a token
 */
export async function createServiceAccount(
  admin: Client,
  key: { namespace: string; name: string },
): Promise<{ name: string; token: string }> {
  requireObject('key', key);
  const { namespace, name } = key;
  requireString('namespace', namespace);
  requireString('name', name);
  await admin.create(NAMESPACES, { metadata: { name: namespace } }).catch(unlessExists);
  await admin.create(ACCOUNTS, { metadata: { namespace, name } }).catch(unlessExists);
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: LIFETIME },
  };
  const answer: unknown = await admin.subResource('token').create(ACCOUNTS, key, request);
  const { token } = (answer as { status: { token: string } }).status;
  return { name: serviceAccountName(namespace, name), token };
}

function unlessExists(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}
