/**
 * ServiceAccount tokens: created by a TokenRequest, and valid until they expire, or the account or
 * the object to which they are bound is deleted. kubernetes:
 * pkg/registry/core/serviceaccount/storage/token.go, pkg/serviceaccount/claims.go.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { formatTime } from '../../../base/times.ts';
import { isObject, type JsonObject, memberObject, stringAt } from '../json.ts';
import type { ResourcePath } from '../paths.ts';
import { type ResourceName, TOKEN_REQUEST } from '../registry/kinds.ts';
import type { Registry } from '../registry/registry.ts';
import { metadataOf, storeKey } from '../registry/store.ts';
import { ofKind } from '../registry/strategy.ts';
import type { Written } from '../registry/warnings.ts';
import { badRequest, conflict, fieldInvalid, invalidObject, notFound } from '../status.ts';
import { type ServerUser, serviceAccountGroups, serviceAccountName } from './users.ts';

/** The issuer, and the default audience. */
export const AUDIENCE = 'https://kubernetes.default.svc';
/** Lifetimes in seconds. */
const [SHORTEST, LONGEST, DEFAULT] = [600, 2 ** 32, 3600];

/** An object to which a token is bound: the token is valid while the object exists. */
interface Bound {
  plural: string;
  namespace: string;
  name: string;
  uid: string;
}

interface Issued {
  namespace: string;
  name: string;
  uid: string;
  id: string;
  audiences: readonly string[];
  /** Milliseconds since 1970. */
  expires: number;
  bound: readonly Bound[];
}

const core = (plural: string): ResourceName => ({ group: '', version: 'v1', plural });
const BINDABLE: Readonly<Record<string, string>> = {
  Pod: 'pods',
  Secret: 'secrets',
  Node: 'nodes',
};

export class Tokens {
  readonly #registry: Registry;
  readonly #wallTime: () => number;
  readonly #issued = new Map<string, Issued>();
  #key: { id: string; secret: KeyObject } | undefined;

  constructor(registry: Registry, wallTime: () => number) {
    this.#registry = registry;
    this.#wallTime = wallTime;
  }

  /** Answers a TokenRequest. */
  create(path: ResourcePath, body: JsonObject, manager: string): Written {
    const sent = this.#registry.unstored(TOKEN_REQUEST, path, withDefaults(body), manager);
    const account = this.#registry.get({ ...path, subresource: '' }, 0).object;
    const { namespace, name } = path;
    const uid = stringAt(metadataOf(account), 'uid');
    const given = metadataOf(body);
    const named = stringAt(given, 'name');
    if (named !== '' && named !== name) {
      const why = 'must match the service account name if specified';
      throw refused(name, fieldInvalid('metadata.name', named, why));
    }
    const requestedUid = stringAt(given, 'uid');
    if (requestedUid !== '' && requestedUid !== uid) {
      const why =
        `the UID in the token request (${requestedUid}) does not match the UID of the ` +
        `service account (${uid})`;
      throw conflict(ofKind(TOKEN_REQUEST, name), why);
    }
    const spec = memberObject(sent, 'spec');
    const seconds = Number(spec.expirationSeconds);
    const field = 'spec.expirationSeconds';
    if (seconds < SHORTEST)
      throw refused(
        '',
        fieldInvalid(field, seconds, 'may not specify a duration less than 10 minutes'),
      );
    if (seconds > LONGEST)
      throw refused(
        '',
        fieldInvalid(field, seconds, 'may not specify a duration larger than 2^32 seconds'),
      );
    const audiences = texts(spec.audiences);
    const bound = this.#boundObjects(namespace, name, spec.boundObjectRef);
    const now = Math.floor(this.#wallTime() / 1000);
    const issued: Issued = {
      namespace,
      name,
      uid,
      id: randomUUID(),
      audiences: audiences.length > 0 ? audiences : [AUDIENCE],
      expires: (now + seconds) * 1000,
      bound,
    };
    const token = this.#sign(issued, now);
    this.#issued.set(token, issued);
    const metadata = {
      ...metadataOf(sent),
      name,
      namespace,
      uid,
      creationTimestamp: formatTime(now * 1000),
    };
    const answer = {
      ...sent,
      metadata,
      spec: {
        audiences: [...issued.audiences],
        expirationSeconds: seconds,
        boundObjectRef: spec.boundObjectRef ?? null,
      },
      status: { token, expirationTimestamp: formatTime(issued.expires) },
    };
    return { code: 201, json: JSON.stringify(answer) };
  }

  /** The user of a token; undefined: it is not valid. */
  userOf(token: string, audiences: readonly string[] = [AUDIENCE]): ServerUser | undefined {
    const issued = this.#issued.get(token);
    if (issued === undefined || issued.expires <= this.#wallTime()) return undefined;
    if (!audiences.some((audience) => issued.audiences.includes(audience))) return undefined;
    const { namespace, name, uid, bound, id } = issued;
    const all = [{ plural: 'serviceaccounts', namespace, name, uid }, ...bound];
    if (!all.every((each) => this.#exists(each))) return undefined;
    const extra: Record<string, readonly string[]> = { [EXTRA('credential-id')]: [`JTI=${id}`] };
    for (const { plural, name, uid } of bound) {
      if (plural === 'secrets') continue;
      const kind = plural.slice(0, -1);
      extra[EXTRA(`${kind}-name`)] = [name];
      extra[EXTRA(`${kind}-uid`)] = [uid];
    }
    return {
      name: serviceAccountName(namespace, name),
      uid,
      groups: serviceAccountGroups(namespace),
      extra,
    };
  }

  /** Those of the requested audiences that a valid token has. */
  audiencesOf(token: string, requested: readonly string[]): string[] {
    const { audiences = [] } = this.#issued.get(token) ?? {};
    return audiences.filter((audience) => requested.includes(audience));
  }

  #exists({ plural, namespace, name, uid }: Bound): boolean {
    const stored = this.#registry.store(core(plural)).get(storeKey(namespace, name));
    return stored !== undefined && stringAt(metadataOf(stored.object), 'uid') === uid;
  }

  /** The objects to which the token is bound: the requested one, and the node of a Pod. */
  #boundObjects(namespace: string, account: string, ref: unknown): Bound[] {
    if (!isObject(ref)) return [];
    const kind = stringAt(ref, 'kind');
    const apiVersion = stringAt(ref, 'apiVersion');
    const plural = Object.hasOwn(BINDABLE, kind) ? BINDABLE[kind] : undefined;
    if (plural === undefined || apiVersion.includes('/')) {
      const groupVersion = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
      throw badRequest(`cannot bind token to object of type ${groupVersion}, Kind=${kind}`);
    }
    const name = stringAt(ref, 'name');
    const found = this.#find(plural, plural === 'nodes' ? '' : namespace, name);
    if (found === undefined) throw notFound({ group: '', what: plural, name });
    const spec = memberObject(found.object, 'spec');
    if (plural === 'pods' && stringAt(spec, 'serviceAccountName') !== account) {
      const why = 'to pod running with different serviceaccount name.';
      throw badRequest(`cannot bind token for serviceaccount ${JSON.stringify(account)} ${why}`);
    }
    const requestedUid = stringAt(ref, 'uid');
    if (requestedUid !== '' && requestedUid !== found.uid) {
      const why =
        `the UID in the bound object reference (${requestedUid}) does not match the UID in ` +
        'record. The object might have been deleted and then recreated';
      throw conflict({ group: '', what: kind, name }, why);
    }
    if (plural !== 'pods') return [found];
    const node = this.#find('nodes', '', stringAt(spec, 'nodeName'));
    return node === undefined ? [found] : [found, node];
  }

  #find(
    plural: string,
    namespace: string,
    name: string,
  ): (Bound & { object: JsonObject }) | undefined {
    const object = this.#registry.store(core(plural)).get(storeKey(namespace, name))?.object;
    if (object === undefined) return undefined;
    return { plural, namespace, name, uid: stringAt(metadataOf(object), 'uid'), object };
  }

  #sign({ namespace, name, uid, id, audiences, expires, bound }: Issued, now: number): string {
    const { id: kid, secret } = this.#signingKey();
    const part = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString('base64url');
    const refs = bound.map(({ plural, name, uid }) => [plural.slice(0, -1), { name, uid }]);
    const claims = {
      aud: audiences,
      exp: expires / 1000,
      iat: now,
      iss: AUDIENCE,
      jti: id,
      'kubernetes.io': {
        namespace,
        ...Object.fromEntries(refs),
        serviceaccount: { name, uid },
      },
      nbf: now,
      sub: serviceAccountName(namespace, name),
    };
    const text = `${part({ alg: 'ES256', kid })}.${part(claims)}`;
    const signature = sign('sha256', Buffer.from(text), { key: secret, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  /** Made with the first token, as key generation would slow the start. */
  #signingKey(): { id: string; secret: KeyObject } {
    if (this.#key === undefined) {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const der = publicKey.export({ type: 'spki', format: 'der' });
      const id = createHash('sha256').update(der).digest('base64url');
      this.#key = { id, secret: privateKey };
    }
    return this.#key;
  }
}

/** The fields of the TokenRequest, with the default lifetime. */
function withDefaults(body: JsonObject): JsonObject {
  const spec = memberObject(body, 'spec');
  return { ...body, spec: { ...spec, expirationSeconds: spec.expirationSeconds ?? DEFAULT } };
}

const EXTRA = (name: string): string => `authentication.kubernetes.io/${name}`;

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

const refused = (name: string, error: ReturnType<typeof fieldInvalid>): Error =>
  invalidObject(ofKind(TOKEN_REQUEST, name), [error]);
