/**
 * Generates texts of errors with secrets, in the forms in which programs and servers quote their
 * input, and harmless texts that must stay readable. All secrets are made up.
 */
import type { Random } from '../helpers/random.ts';

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const ALPHANUMERIC = LOWER + UPPER + DIGITS;
const WORDS =
  'correct horse battery staple orange window seven rivers quiet lantern marble copper tiger'.split(
    ' ',
  );

export interface Leak {
  /** The kind of secret and the form. */
  readonly what: string;
  readonly text: string;
  /** Parts of the secret, none of which may be shown; long enough not to occur by chance. */
  readonly secrets: readonly string[];
  /** The text is about Secrets. */
  readonly strict: boolean;
}

const of = (random: Random, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[random.int(alphabet.length)]).join('');
const base64 = (random: Random, bytes: number): string =>
  Buffer.from(Array.from({ length: bytes }, () => random.int(256))).toString('base64');
const pick = <T>(random: Random, all: readonly T[]): T => all[random.int(all.length)] as T;
const phrase = (random: Random): string =>
  Array.from({ length: 3 + random.int(4) }, () => pick(random, WORDS)).join(' ');
const password = (random: Random): string =>
  of(random, LOWER, 6) +
  of(random, DIGITS, 2) +
  pick(random, ['', '!', '#', '$', '%', '/', '+', '@', '~']) +
  of(random, LOWER + UPPER, 3);
const pem = (random: Random): string =>
  [
    '-----BEGIN RSA PRIVATE KEY-----',
    ...[1, 2, 3].map(() => base64(random, 48)),
    '-----END RSA PRIVATE KEY-----',
  ].join('\n');
const jwt = (random: Random): string =>
  ['{"alg":"RS256"}', `{"sub":"${of(random, LOWER, 8)}"}`, of(random, LOWER, 30)]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');
/** With a slash and a plus sign at random places, like AWS's keys. */
const slashed = (random: Random): string => {
  const key = [...of(random, ALPHANUMERIC, 40)];
  for (const sign of ['/', '+', '/']) key[5 + random.int(30)] = sign;
  return key.join('');
};

/** Secrets that are recognised by their own form. */
const telling: Record<string, (random: Random) => string> = {
  'a JSON Web Token': jwt,
  'a GitHub token': (random) => `ghp_${of(random, ALPHANUMERIC, 36)}`,
  'a fine-grained GitHub token': (random) =>
    `github_pat_${of(random, ALPHANUMERIC, 22)}_${of(random, ALPHANUMERIC, 59)}`,
  'a Slack token': (random) =>
    `xoxb-${of(random, DIGITS, 11)}-${of(random, DIGITS, 12)}-${of(random, LOWER + UPPER, 24)}`,
  'a Slack app token': (random) =>
    `xapp-1-${of(random, UPPER + DIGITS, 11)}-${of(random, DIGITS, 13)}-` +
    of(random, LOWER + DIGITS, 40),
  'a Slack webhook': (random) =>
    `https://hooks.slack.com/services/T${of(random, UPPER + DIGITS, 8)}/` +
    `B${of(random, UPPER + DIGITS, 8)}/${of(random, ALPHANUMERIC, 24)}`,
  'an AWS access key id': (random) =>
    `AKIA${of(random, UPPER, 8)}${of(random, DIGITS, 2)}${of(random, UPPER, 6)}`,
  'an AWS secret key': slashed,
  'a GCP API key': (random) => `AIza${of(random, ALPHANUMERIC, 35)}`,
  'a Google OAuth token': (random) => `ya29.a0${of(random, ALPHANUMERIC, 60)}`,
  'an Azure storage key': (random) => base64(random, 64),
  'a Stripe key': (random) => `sk_live_${of(random, ALPHANUMERIC, 24)}`,
  'a DigitalOcean token': (random) => `dop_v1_${of(random, 'abcdef0123456789', 64)}`,
  'a bootstrap token': (random) =>
    `${of(random, LOWER, 3)}${of(random, DIGITS, 3)}.${of(random, LOWER + DIGITS, 15)}7`,
  'a hexadecimal key': (random) => `a1${of(random, 'abcdef0123456789', 46)}`,
  'a key of lower case letters and digits': (random) =>
    Array.from({ length: 16 }, () => of(random, LOWER, 1) + of(random, DIGITS, 1)).join(''),
  'a PEM block': pem,
  'a PEM block in one line': (random) => pem(random).replaceAll('\n', '\\n'),
};

/** Secrets that are recognised by the word before them. */
const named: Record<string, (random: Random) => string> = {
  'a password': password,
  'a key with slashes': slashed,
  'base64 of a Secret': (random) => base64(random, 5 + random.int(20)),
  'a UUID': (random) =>
    [8, 4, 4, 4, 12].map((length) => of(random, 'abcdef0123456789', length)).join('-'),
};
const quoted: typeof named = { ...named, 'a passphrase of several words': phrase };

const KEYS = [
  'password',
  'passwd',
  'DB_PASSWORD',
  'PGPASSWORD',
  'MYSQL_PWD',
  'token',
  'access_token',
  'refreshToken',
  'clientSecret',
  'client_secret',
  'apiKey',
  'x-api-key',
  'AWS_SECRET_ACCESS_KEY',
  'aws_session_token',
  'SECRET_KEY_BASE',
  'AccountKey',
  'SharedAccessKey',
  'passphrase',
  'privateKey',
  'master_key',
  'encryptionKey',
  'id-token',
  'VAULT_TOKEN',
];

type Shape = (key: string, value: string) => string;
const plainShapes: Record<string, Shape> = {
  'a variable': (key, value) => `exec failed: ${key}=${value} app: exit status 1`,
  'a query': (key, value) =>
    `GET https://api.example.com/v1/x?user=a&${key}=${encodeURIComponent(value)}&n=1: 401`,
  'a query in percent-encoding': (key, value) =>
    `redirect_uri=https%3A%2F%2Fa.example%2F%3F${key}%3D${encodeURIComponent(encodeURIComponent(value))}%26n%3D1 ` +
    'is not allowed',
  'JSON in percent-encoding': (key, value) =>
    `bad body ${encodeURIComponent(JSON.stringify({ user: 'a', [key]: value, n: 1 }))}`,
  'a flag': (key, value) =>
    `Command failed: app --${key.toLowerCase().replaceAll('_', '-')}=${value} --verbose`,
  'a flag and its argument': (key, value) =>
    `Command failed: app --${key.toLowerCase().replaceAll('_', '-')} ${value} --verbose`,
  'a connection string': (key, value) =>
    `cannot open "Server=db;User Id=sa;${key}=${value};Encrypt=true"`,
  'a DSN of words': (key, value) =>
    `cannot connect to host=db user=app ${key}=${value} dbname=app: refused`,
  'a line of YAML': (key, value) => `yaml: line 3: user: a\n  ${key}: ${value}\nhost: b`,
  'a header': (key, value) => `request had ${key}: ${value}\r\nhost: b`,
  'a Go struct': (key, value) => `bad config {User:a ${key}:${value} Host:b}`,
};
const quotedShapes: Record<string, Shape> = {
  JSON: (key, value) =>
    `bad body {"user":"a",${JSON.stringify(key)}: ${JSON.stringify(value)},"n":1}`,
  'JSON in JSON': (key, value) => `got ${JSON.stringify(JSON.stringify({ [key]: value, n: 1 }))}`,
  'JSON in JSON in JSON': (key, value) =>
    `got ${JSON.stringify(JSON.stringify(JSON.stringify({ [key]: value, n: 1 })))}`,
  'a list in JSON': (key, value) => `bad body {"${key}":["x y",${JSON.stringify(value)}],"n":1}`,
  'a variable of a container': (key, value) =>
    `bad container {"name":"${key}","value":${JSON.stringify(value)}}`,
  'a variable of a container in YAML': (key, value) =>
    `env:\n- name: ${key}\n  value: "${value}"\n`,
  'single quotes': (key, value) => `{ ${key}: '${value.replaceAll("'", "\\'")}', n: 1 }`,
  'a quoted variable': (key, value) => `sh: export ${key}="${value}" failed`,
  'a quoted flag': (key, value) =>
    `Command failed: app --${key.toLowerCase().replaceAll('_', '-')} '${value}' x`,
  'typographic quotes': (key, value) => `${key}: “${value}” was refused`,
  'a word before it': (key, value) => `the ${key} "${value}" is wrong`,
  'words before it': (key, value) => `the ${key} was '${value}', which is wrong`,
  'several lines in quotes': (key, value) => `bad body {"${key}": "${value}\n${value}\nend"}`,
  'a block of YAML': (key, value) => `config:\n  ${key}: |\n    ${value}\n    ${value}\nhost: b`,
  'a folded block of YAML': (key, value) =>
    `config:\n  ${key}: >-\n    ${value}\n    ${value}\nhost: b`,
  'a line of YAML with several words': (key, value) =>
    `config:\n  ${key.replace(/^.*$/, 'passphrase')}: ${value}\nhost: b`,
};
const fixedShapes: Record<string, (value: string, random: Random) => string> = {
  'a bearer token': (value) => `sent Authorization: Bearer ${value} and got 401`,
  'a bearer token by itself': (value) => `the bearer ${value} has expired`,
  'a header of curl': (value) =>
    `Command failed: curl -H 'Authorization: Token ${value}' https://a.example`,
  'a cookie': (value) => `Cookie: a=1; session=${value}; b=2`,
  'a cookie that is set': (value) => `got Set-Cookie: sid=${value}; Path=/; HttpOnly`,
  'a user in an address': (value) => `connect postgres://admin:${value}@db:5432/app failed`,
  'a user in an address, encoded': (value) =>
    `connect mongodb+srv://admin:${encodeURIComponent(value)}@db/app?x=1 failed`,
  'an address without a user': (value) => `connect redis://:${value}@cache:6379/0 failed`,
  'a user of curl': (value) => `Command failed: curl -u admin:${value} https://a.example`,
  'a user of curl in quotes': (value) =>
    `Command failed: curl --user 'admin:${value}' https://a.example`,
  netrc: (value) => `netrc: machine a.example login admin password ${value} is too old`,
  'a signature of Azure': (value) =>
    `GET https://a.blob.example/c?sv=1&sig=${encodeURIComponent(value)}&se=2`,
  'an Azure connection string': (value) =>
    `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${value};EndpointSuffix=core.example`,
  'a kubeconfig': (value) =>
    'apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user:\n    ' +
    `client-key-data: ${value}\n    token: ${value}\ncurrent-context: a`,
  'a kubeconfig in JSON': (value) =>
    `{"users":[{"name":"a","user":{"client-key-data":"${value}","id-token":"${value}"}}]}`,
  'an image pull secret': (value) => `{"auths":{"r.example":{"username":"a","auth":"${value}"}}}`,
};
/** Texts about Secrets, whose keys may be any words. */
const secretShapes: Record<string, (value: string) => string> = {
  'data in JSON': (value) =>
    `Secret "db" is invalid: {"kind":"Secret","data":{"db":${JSON.stringify(value)}}}`,
  'data in YAML': (value) =>
    `cannot apply v1 Secret\nstringData:\n  db: ${value}\n  other: ${value}\nkind: Secret`,
  'data as Go prints it': (value) => `Secret "db": cannot convert map[db:${value} other:${value}]`,
  'a value that is refused': (value) =>
    `Secret "db" is invalid: data[db]: Invalid value: ${JSON.stringify(value)}: no`,
  'a value in single quotes': (value) =>
    `secrets "db": the value '${value.replaceAll("'", '')}' is bad`,
};

/** The parts of a secret that must not be shown. */
const pieces = (value: string): string[] =>
  value
    .split(/[\s"'\\/@;&,%+#$!~|:.-]+/)
    .filter(
      (piece) =>
        piece.length >= 5 &&
        !/^(?:BEGIN|PRIVATE|https?|hooks|slack|services|sk_live_.{0,3})$/.test(piece),
    );

/** Each secret in each of its forms; its content depends on the seed. */
export function* leaks(random: Random): Generator<Leak> {
  const leak = (what: string, text: string, value: string, strict = false): Leak => ({
    what,
    text,
    secrets: pieces(value),
    strict,
  });
  for (const [kind, make] of Object.entries(telling)) {
    const value = make(random);
    yield leak(`${kind} by itself`, `got ${value} instead`, value);
    yield leak(`${kind} in quotes`, `expected a name, got "${value}"`, value);
    yield leak(`${kind} in brackets`, `[${value}] is refused, (${value}) too`, value);
  }
  for (const key of KEYS) {
    for (const [kind, make] of Object.entries(named))
      for (const [shape, put] of Object.entries(plainShapes)) {
        const value = make(random);
        yield leak(`${kind} named ${key} in ${shape}`, put(key, value), value);
      }
    for (const [kind, make] of Object.entries(quoted))
      for (const [shape, put] of Object.entries(quotedShapes)) {
        const value = make(random);
        yield leak(`${kind} named ${key} in ${shape}`, put(key, value), value);
      }
  }
  for (const [shape, put] of Object.entries(fixedShapes))
    for (const [kind, make] of Object.entries(named)) {
      const value = make(random);
      yield leak(`${kind} in ${shape}`, put(value, random), value);
    }
  for (const [shape, put] of Object.entries(secretShapes))
    for (const [kind, make] of Object.entries(quoted)) {
      const value = make(random);
      yield leak(`${kind} in ${shape}`, put(value), value, true);
      yield leak(`${kind} in ${shape}, of a text that says so`, put(value), value);
    }
}

export const harmless: readonly string[] = [
  'GET ' +
    'https://10.96.0.1:443/apis/apps/v1/namespaces/demo/deployments/shop: ' +
    '404 NotFound: not found',
  'update websites.demo.capstan.dev "shop": 409 Conflict: the object has been ' +
    'modified; please apply your changes to the latest version',
  'Website.demo.capstan.dev "shop" is invalid: spec.replicas: Invalid ' +
    'value: -1: should be greater than or equal to 0',
  'connect ECONNREFUSED 10.0.0.12:6443',
  'getaddrinfo ENOTFOUND registry.example.com',
  'ENOENT: no such file or directory, open ' +
    "'/var/run/secrets/kubernetes.io/serviceaccount/namespace'",
  'the reconcile of demo/shop-7c9f8d6b54-x2x1p has not ended within 30000 ms',
  'image ' +
    'registry.example/team/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 ' +
    'is missing',
  'uid 0b0f7a0e-6f8e-4a1c-9f52-0c1d2e3f4a5b does not match the precondition',
  'pods "shop-0" is forbidden: exceeded quota: compute, ' +
    'requested: cpu=2, used: cpu=3, limited: cpu=4',
  'serviceaccounts "builder" not found',
  'admission webhook "validate.example.com" denied the ' +
    'request: spec.tokenBucket.size must be positive',
  "TypeError: Cannot read properties of undefined (reading 'spec')",
  "a program tried to change a read-only object (Cannot assign to read only property 'x' of " +
    'object): change a copy, structuredClone(object), or use createOrUpdate',
  'at /usr/local/lib/node_modules/capstan/dist/controller/reconcile.js:124:17',
  'at ReconcileLoop.#takeTurns (file:///app/node_modules/capstan/dist/controller/loop.js:301:40)',
  'the controllerRevisionHashLabelSelectorTerm of demo/shop expected one',
  'x509: certificate signed by unknown authority (possibly ' +
    'because of "crypto/rsa: verification error")',
  'tls: failed to verify certificate: x509: certificate is valid for ' +
    'kubernetes.default.svc.cluster.local, not api.example.com',
  'the lease demo/website-controller was lost: this process must no longer lead',
  'watch of v1 Secret: 410 Expired: too old resource version: 146 (187)',
  'secrets "db-credentials" not found',
  'cannot mount secret "db-credentials" of the skaffold-config-map',
  'no matches for kind "Website" in version "demo.capstan.dev/v1alpha1"',
  'the token bucket is empty, 3 requests wait',
  'compass: north, bypass=1, the flag --token-file is unknown',
  'Back-off pulling image "ghcr.io/example/shop:v1.24.3-alpine"',
  'deadline exceeded after 10s; retry 4 of 5, next at 2026-11-26T03:20:16Z',
  'node ip-10-0-12-34.eu-central-1.compute.internal has 2 ' +
    'taints: {node.kubernetes.io/unreachable: }',
  'POST ' +
    '/apis/networking.k8s.io/v1/namespaces/team-a/networkpolicies?dryRun=All&fieldManager=shop: ' +
    '422 Unprocessable Entity',
];
