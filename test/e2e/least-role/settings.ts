/** What main.ts and the tests that it runs agree on. */

/** The account that the tests run as. */
export const ACCOUNT = { namespace: 'kube-system', name: 'e2e' };

/** Environment variables: the folder of audit logs, and the file of the account's Roles. */
export const FOLDER = 'CAPSTAN_LEAST_ROLE_LOGS';
export const ROLES = 'CAPSTAN_LEAST_ROLE_ROLES';

/** Files that are left out by default, with why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'control-plane': 'It starts and ends programs, and asks nothing.',
  envtest: 'It is about who the administrator and other users are.',
  webhooks: 'Its webhook expects to be asked about the administrator.',
  'flow-metrics': 'It asks as users who have no Roles.',
  rbac: 'It gives Roles to accounts, which needs all that they allow.',
  restricted: 'It gives Roles to accounts, which needs all that they allow.',
  namespaces: 'It gives Roles to accounts, which needs all that they allow.',
  init: 'It gives Roles to accounts, which needs all that they allow.',
  tutorial: 'It gives Roles to accounts, which needs all that they allow.',
  examples: 'It gives Roles to accounts, which needs all that they allow.',
  'shards-permissions': 'It gives Roles to accounts, which needs all that they allow.',
  'webhook-example': 'It gives Roles to accounts, which needs all that they allow.',
  kinds: 'It compares the answers of two servers to an administrator.',
  openapi: 'It compares the answers of two servers to an administrator.',
  'same-answers': 'It compares the answers of two servers to an administrator.',
  settled: 'It compares the answers of two servers to an administrator.',
};
