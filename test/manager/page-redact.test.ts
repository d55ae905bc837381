/** Redaction removes values that look like secrets from errors. All secrets here were made up. */
import { describe, expect, it } from 'vitest';
import { redact } from '../../bindings/manager/page/redact.ts';
import { redactionCost } from './redaction-cost.ts';

const JWT = 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl-_0';

describe('an error is shown without', () => {
  it.each([
    ['a bearer token', `401 for Authorization: Bearer ${JWT} from 10.0.0.1`, JWT],
    ['a short bearer token', 'sent "bearer abcdef123" twice', 'abcdef123'],
    ['basic credentials', 'proxy wanted Basic YWRtaW46aHVudGVyMg==', 'YWRtaW46'],
    ['a JSON Web Token by itself', `cannot verify ${JWT}: expired`, 'eyJ'],
    ['a JSON Web Token that was cut', 'cannot verify eyJhbGciOiJSUzI1NiIs', 'eyJ'],
    ['a password in an address', 'connect postgres://admin:hunter2@db:5432/app failed', 'hunter2'],
    ['a value named password', 'login failed: password=hunter2, host=db', 'hunter2'],
    ['a value in JSON', 'bad body {"user":"a","password":"hunter \\"2\\" x","n":1}', 'hunter'],
    ['a value in quotes that do not end', `{"client_secret":"correct horse`, 'correct'],
    ['a variable', 'DB_PASSWORD: hunter2; retrying', 'hunter2'],
    ['a key of an interface', 'apiKey=Zq81 refused, api-key: Zq81', 'Zq81'],
    [
      'credentials of a scheme that nobody knows',
      'sent Authorization: Token abc42 and got 401',
      'abc42',
    ],
    ['a value after a kind', 'watch of v1 Secret: secret: hunter2', 'hunter2'],
    ['a value that follows the word', 'the default of v1 secret: hunter2', 'hunter2'],
    ['a field of a Secret', 'v1 Secret: {"clientSecret":"x81"}', 'x81'],
    ['the second of two cookies', 'Cookie: a=1; session=zzz9', 'zzz9'],
    ['a header in JSON', `{"headers":{"authorization":"Custom q1 w2"},"n":1}`, 'q1 w2'],
    [
      'a password in quotes after its word',
      'cannot log in with password "correct horse"',
      'correct',
    ],
    ['a token by its prefix', 'refused xoxb-123456-abcdef for the bot', '123456'],
    ['a key in capitals', 'refused AKIAIOSFODNN7EXAMPLE now', 'IOSFODNN'],
    ['a long hexadecimal number', 'the key 3f9a1c77b2d04e5f8a6b3c2d1e0f9a8b does not fit', '3f9a'],
    ['base64 with slashes in it', 'got q9Xz/81Kd0sPw+Lm3Rt7uYv2/Qa instead', '81Kd'],
    ['a cookie', 'Set-Cookie: sid=aaa1', 'sid=aaa1'],
    [
      'a private key',
      'key -----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAA\n-----END RSA PRIVATE KEY----- is bad',
      'MIIEow',
    ],
    ['a private key that was cut', 'key -----BEGIN EC PRIVATE KEY-----\nMHcCAQ', 'MHcCAQ'],
    ['padded base64', 'illegal data cGFzc3dvcmQ= at 4', 'cGFzc3'],
    ['a long random word', 'got AKIAIOSFODNN7exampleKEY0 instead', 'AKIA'],
    [
      'a password with an at sign',
      'connect postgres://admin:p@hunter2@db:5432/app failed',
      'hunter2',
    ],
    ['a password with a slash', 'Invalid URL: postgres://admin:a/hunter2@db:5432/app', 'hunter2'],
    ['JSON in JSON', `got "{\\"user\\":\\"a\\",\\"password\\":\\"hunter2 x\\"}"`, 'hunter2'],
    [
      'a quote in JSON in JSON',
      `got "{\\"password\\":\\"a\\\\\\"hunter2\\",\\"n\\":1}"`,
      'hunter2',
    ],
    ['a header in JSON in JSON', `got "{\\"authorization\\":\\"Custom q1 w2\\"}"`, 'q1 w2'],
    [
      'an argument of a command',
      'Command failed: helm login --username a --password hunter2 host',
      'hunter2',
    ],
    ['an argument in quotes', "Command failed: vault login --token 'hunter2 x' host", 'hunter2'],
    [
      'a signature of Azure',
      'GET https://a.blob.example/c?sv=1&sig=ab%2Fhunter2%3D&se=2',
      'hunter2',
    ],
    [
      'a value named pass',
      'login failed: {"user":"a","pass":"hunter2"}, DB_PASS=hunter2',
      'hunter2',
    ],
    [
      'a value that was refused',
      'Website "a" is invalid: spec.password: Invalid value: "hunter2": too short',
      'hunter2',
    ],
    [
      'a value that was refused without quotes',
      'Website "a" is invalid: spec.token: Invalid value: hunter2',
      'hunter2',
    ],
    ['a secret key', 'login failed: secretKey=hunter2, encryption_key: hunter2', 'hunter2'],
    ['what an image is pulled with', '{"auths":{"r.example":{"auth":"YTpi"}}}', 'YTpi'],
    [
      'data of a Secret',
      'Secret "db" is invalid: data[pass]: Invalid value: "hunter2": must be base64',
      'hunter2',
    ],
    [
      'data of a Secret in a map',
      `secrets "db": data: Invalid value: {'pass': 'hunter2'}`,
      'hunter2',
    ],
    [
      'data of a Secret without quotes',
      'Secret "db" is invalid: data.pass: Invalid value: hunter2',
      'hunter2',
    ],
  ])('%s', (_, text, secret) => {
    const redacted = redact(text);
    expect(redacted).not.toContain(secret);
    expect(redacted).toContain('‹redacted›');
  });

  // What an API server quotes when it refuses a request is kept; that must let nothing else
  // through.
  it.each([
    [
      'a user that is no name',
      'secrets "a" is forbidden: User "hunter 2" cannot get resource "secrets" in API group ""',
    ],
    ['a text before "not found"', 'the secret key: "hunter 2" not found'],
    ['a value before "not found"', 'the secret key: "hunter2" not found'],
    ['a value that is shaped like a name', 'the secret has a password "hunter2" not found'],
    ['a word in quotes by itself', 'the secret has "hunter2", is forbidden: User "a" cannot'],
    ['what only begins like it', 'secrets: User "hunter2" cannot log in'],
    ['a key for a name', 'secrets: keys "AKIAIOSFODNN7hunter2" not found'],
  ])('%s', (_, text) => {
    expect(redact(text, true)).not.toContain('hunter');
  });

  it('quoted values, if the error is about Secrets', () => {
    expect(redact('the value "hunter2" is too short', true)).toBe(
      'the value ‹redacted› is too short',
    );
    expect(redact('the value "hunter2" is too short')).toContain('hunter2');
  });
});

describe('an error is shown with', () => {
  it.each([
    // The missing permission of a controller was unreadable if it concerned Secrets or a group with
    // that word in its name.
    'DELETE /api/v1/namespaces/demo/secrets/c10-sec: 403 Forbidden: secrets ' +
      '"c10-sec" is forbidden: User "system:serviceaccount:demo:web" cannot delete ' +
      'resource "secrets" in API group "" in the namespace "demo"',
    'externalsecrets.external-secrets.io "db" is forbidden: User ' +
      '"jane@example.com" cannot update resource "externalsecrets/status" in ' +
      'API group "external-secrets.io" in the namespace "demo"',
    'secrets is forbidden: User "kubelet" cannot list resource ' +
      '"secrets" in API group "" at the cluster scope',
    'externalsecrets.external-secrets.io "db" not found',
    'update websites.demo.capstan.dev "shop": 409 Conflict: the object has been ' +
      'modified; please apply your changes to the latest version',
    'secrets "db-credentials" not found',
    'GET ' +
      'https://10.96.0.1:443/apis/apps/v1/namespaces/demo/deployments/shop: ' +
      '404 NotFound: not found',
    'image ' +
      'registry.example/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 ' +
      'is missing',
    'cannot mount secret "db-credentials" of the skaffold-config-map',
    'PATCH /api/v1/namespaces/demo/configMaps/shop-7c9f8d6b54-x2x1p: 404 NotFound: not found',
    'ENOENT: no such file or directory, open /usr/local/lib/node_modules/capstan/dist/index.js',
    'uid 0b0f7a0e-6f8e-4a1c-9f52-0c1d2e3f4a5b does not match',
    // For an informer of Secrets, the status code or the first word was taken for a secret.
    'watch of v1 Secret: 410 Expired: too old resource version: 146 (187)',
    'reflector of external-secrets.io/v1beta1 ExternalSecret: 403 Forbidden: no',
    'a list of v1 Secret: expected a JSON object',
    'Website.demo "shop" is invalid: spec.replicas: Invalid ' +
      'value: -1: should be greater than or equal to 0',
    'the controllerRevisionHashLabelSelectorTerm of demo/shop expected one',
    'the token bucket is empty',
    'compass: north, bypass=1, the flag --token-file is unknown',
    'no answer from https://10.96.0.1:6443/apis/demo/users/jane@example.com',
    '{\\"kind\\":\\"Website\\",\\"host\\":\\"a\\"}',
    "TypeError: can't read properties of undefined (reading 'spec')",
  ])('what helps: %s', (text) => expect(redact(text)).toBe(text));

  it('at most two thousand characters, and how many there were', () => {
    const redacted = redact('no luck. '.repeat(1000));
    expect(redacted).toMatch(/^no luck\. [\s\S]*… \(9000 characters\)$/);
    expect(redacted.length).toBeLessThan(2040);
    expect(redact('x '.repeat(30_000))).toContain('(60000 characters)');
  });

  it('no half of a secret if a long text is cut within one', () => {
    // Only 16 384 characters are read; all before is one long run that is redacted to a few
    // characters, so that the cut becomes visible.
    const lead = `${'aB1'.repeat(5400)} `;
    const redacted = redact(`${lead}${'x'.repeat(16_384 - lead.length - 12)} token hunter2hunter2`);
    expect(redacted).not.toContain('hunter');
  });

  it('no half of a surrogate pair at the cut', () => {
    expect(redact(`${'a '.repeat(999)}a😀😀`)).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
  });
});

// Patterns with backtracking would hang the process: adversarial texts must cost no more than long
// ones.
it.each([
  '"',
  "'",
  '`',
  '-----BEGIN A-----',
  'password=',
  'password="\\',
  'password\\":\\"',
  'password\\":\\"\\\\\\"',
  '\\',
  '--password ',
  '--token-',
  'a://b:c',
  'a://b:@',
  'eyJaaaaaa.',
  'a://',
  'a:b@',
  'AAAA',
  '=',
  'secret "',
  'User "a',
  'User "a" cannot get resource "b" ',
  'watch of a/v1 token',
  'aaaa.v1 token',
])('a text of nothing but %s is read in a moment', (part) => {
  const text = part.repeat(Math.ceil(40_000 / part.length));
  expect(redactionCost(text)).toBeLessThan(400);
});
