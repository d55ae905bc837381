/**
 * Authentication, impersonation and authorization of a request. apiserver: pkg/server/config.go
 * DefaultBuildHandlerChain, whose order this keeps.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { formatTime } from '../../../base/times.ts';
import type { JsonObject } from '../json.ts';
import type { Kind } from '../registry/kinds.ts';
import type { Registry, StoreWriteOptions } from '../registry/registry.ts';
import type { Written } from '../registry/warnings.ts';
import type { ApiTarget } from '../request/request-target.ts';
import { seed } from '../seed.ts';
import { type Attributes, attributesOf, forbidden, isPath } from './attributes.ts';
import { bootstrapRoles } from './bootstrap-roles.ts';
import { requireGrantable } from './escalation.ts';
import { requireImpersonation } from './impersonation.ts';
import { type Authorizer, allowAll, Rbac } from './rbac.ts';
import { review } from './reviews.ts';
import { Tokens } from './tokens.ts';
import { impersonationOf, type ServerUser, Users } from './users.ts';

/** The authorization mode. */
export type Authorization = 'AlwaysAllow' | 'RBAC';

export interface AccessOptions {
  /** Users by their bearer tokens. */
  users: Readonly<Record<string, ServerUser>> | undefined;
  authorization: Authorization;
  wallTime: () => number;
}

/** The user of a request, and the check before it writes. */
export interface Requester extends Pick<StoreWriteOptions, 'guard' | 'user'> {
  user: ServerUser;
}

export class Access {
  readonly tokens: Tokens;
  readonly #users: Users;
  readonly #authorizer: Authorizer;
  readonly #rbac: Rbac | undefined;
  readonly #wallTime: () => number;

  constructor(registry: Registry, { users, authorization, wallTime }: AccessOptions) {
    this.tokens = new Tokens(registry, wallTime);
    this.#rbac = authorization === 'RBAC' ? new Rbac(registry) : undefined;
    this.#authorizer = this.#rbac ?? allowAll;
    this.#wallTime = wallTime;
    if (this.#rbac !== undefined) seed(registry, bootstrapRoles());
    const isServiceAccount = (token: string): ServerUser | undefined => this.tokens.userOf(token);
    this.#users = new Users(users, isServiceAccount, this.#rbac !== undefined);
  }

  setTokens(tokens: readonly string[] | undefined): void {
    this.#users.setTokens(tokens);
  }

  /** The user of an authorized request. Throws 400, 401 or 403. */
  admit(target: ApiTarget, headers: IncomingHttpHeaders): Requester {
    const sender = this.#users.authenticate(headers);
    const impersonation = impersonationOf(headers);
    const user = impersonation?.user ?? sender;
    const rbac = this.#rbac;
    if (rbac === undefined) return { user };
    const { method, route, path, query, verb } = target;
    const attributes: Attributes =
      route.type === 'resource'
        ? attributesOf(method, route, query, verb === 'watch')
        : { verb: method.toLowerCase(), path };
    if (impersonation !== undefined)
      requireImpersonation(rbac, sender, impersonation.requested, attributes);
    const { allowed, reason } = rbac.decide(user, attributes);
    if (!allowed) throw forbidden(user, attributes, reason);
    return {
      user,
      guard: (kind, object, old) => {
        // An apply or an update that makes its object.
        const isMade = old === undefined && (method === 'PATCH' || method === 'PUT');
        if (isMade && !isPath(attributes)) {
          const create = { ...attributes, verb: 'create' };
          if (!rbac.decide(user, create).allowed) throw forbidden(user, create);
        }
        requireGrantable(rbac, user, kind, object, old);
      },
    };
  }

  /** Answers a review. */
  review(kind: Kind, object: JsonObject, { user }: Requester): Written {
    return review(kind, object, {
      user,
      users: this.#users,
      tokens: this.tokens,
      authorizer: this.#authorizer,
      now: formatTime(this.#wallTime()),
    });
  }
}
