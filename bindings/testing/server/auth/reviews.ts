/**
 * Reviews: TokenReviews, SelfSubjectReviews, and reviews of access and rules. They are answered and
 * not stored. kubernetes: pkg/registry/authentication, pkg/registry/authorization.
 */
import { isObject, type Json, type JsonObject, memberObject, stringAt, without } from '../json.ts';
import { apiVersionOf, type Kind } from '../registry/kinds.ts';
import { metadataOf } from '../registry/store.ts';
import type { Written } from '../registry/warnings.ts';
import {
  badRequest,
  type FieldError,
  fieldForbidden,
  fieldInvalid,
  fieldRequired,
  invalidObject,
} from '../status.ts';
import type { Attributes } from './attributes.ts';
import type { Authorizer, PolicyRule } from './rbac.ts';
import { AUDIENCE, type Tokens } from './tokens.ts';
import type { ServerUser, Users } from './users.ts';

/** Answers reviews. */
export interface Reviewer {
  readonly user: ServerUser;
  readonly users: Users;
  readonly tokens: Tokens;
  readonly authorizer: Authorizer;
  readonly now: string;
}

/** @param object as it was sent, with its managedFields */
export function review(kind: Kind, object: JsonObject, by: Reviewer): Written {
  const reviewed = REVIEWS[kind.kind]?.(object, by);
  if (reviewed === undefined) throw new TypeError(`no review: ${kind.kind}`);
  const head = { kind: kind.kind, apiVersion: apiVersionOf(kind) };
  return { code: 201, json: JSON.stringify({ ...head, ...reviewed }) };
}

type Review = (object: JsonObject, by: Reviewer) => JsonObject;

const REVIEWS: Readonly<Record<string, Review>> = {
  TokenReview: tokenReview,
  SelfSubjectReview: (_, { user, now }) => ({
    metadata: { creationTimestamp: now },
    status: { userInfo: userInfo(user) },
  }),
  SubjectAccessReview: (object, by) => {
    const wrong = [...attributeErrors(object), ...subjectErrors(object), ...metadataErrors(object)];
    return accessReview(object, by, subjectOf(object), wrong);
  },
  SelfSubjectAccessReview: (object, by) =>
    accessReview(object, by, by.user, [...attributeErrors(object), ...metadataErrors(object)]),
  LocalSubjectAccessReview: (object, by) =>
    accessReview(object, by, subjectOf(object), localErrors(object)),
  SelfSubjectRulesReview: rulesReview,
};

function tokenReview(object: JsonObject, { users, tokens }: Reviewer): JsonObject {
  const spec = memberObject(object, 'spec');
  const token = stringAt(spec, 'token');
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const requested = texts(spec.audiences);
  const wanted = requested.length > 0 ? requested : [AUDIENCE];
  const account = tokens.userOf(token, wanted);
  // Other tokens are for the audience of this server only.
  const known = account ?? (wanted.includes(AUDIENCE) ? users.ofToken(token) : undefined);
  const { metadata = {} } = object;
  if (known === undefined)
    return { metadata, spec, status: { user: {}, error: 'invalid bearer token' } };
  const audiences = account === undefined ? [AUDIENCE] : tokens.audiencesOf(token, wanted);
  const groups = [...(known.groups ?? [])];
  const user = userInfo({
    ...known,
    groups: groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED],
  });
  return { metadata, spec, status: { authenticated: true, user, audiences } };
}

const AUTHENTICATED = 'system:authenticated';

function userInfo({ name, uid, groups = [], extra = {} }: ServerUser): JsonObject {
  const keys = Object.keys(extra).sort();
  return {
    username: name,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(keys.length === 0
      ? {}
      : { extra: Object.fromEntries(keys.map((key) => [key, [...(extra[key] ?? [])]])) }),
  };
}

/** The user of a SubjectAccessReview. */
function subjectOf(object: JsonObject): ServerUser {
  const spec = memberObject(object, 'spec');
  return { name: stringAt(spec, 'user'), groups: texts(spec.groups) };
}

function accessReview(
  object: JsonObject,
  { authorizer }: Reviewer,
  user: ServerUser,
  errors: readonly FieldError[],
): JsonObject {
  // The real server names no kind in this error.
  const subject = { group: 'authorization.k8s.io', what: '', name: '' };
  if (errors.length > 0) throw invalidObject(subject, errors);
  const { allowed, reason } = authorizer.decide(user, attributesIn(object));
  const { metadata = {}, spec = {} } = object;
  const status = {
    allowed,
    ...(reason === '' ? {} : { reason }),
  };
  return { metadata, spec, status };
}

function attributesIn(object: JsonObject): Attributes {
  const { resourceAttributes, nonResourceAttributes } = memberObject(object, 'spec');
  if (!isObject(resourceAttributes)) {
    const requested = isObject(nonResourceAttributes) ? nonResourceAttributes : {};
    return { verb: stringAt(requested, 'verb'), path: stringAt(requested, 'path') };
  }
  const text = (name: string): string => stringAt(resourceAttributes, name);
  return {
    verb: text('verb'),
    group: text('group'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
  };
}

function attributeErrors(object: JsonObject): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = memberObject(
    object,
    'spec',
  );
  if (isObject(resource) && isObject(path)) {
    const why = 'cannot be specified in combination with resourceAttributes';
    return [fieldInvalid('spec.nonResourceAttributes', path, why)];
  }
  if (isObject(path)) return [];
  if (isObject(resource)) {
    const at = 'spec.resourceAttributes';
    return [
      ...selectorErrors(resource.fieldSelector, `${at}.fieldSelector`),
      ...selectorErrors(resource.labelSelector, `${at}.labelSelector`),
    ];
  }
  const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [fieldInvalid('spec.resourceAttributes', null, why)];
}

/** kubernetes: pkg/apis/authorization/validation. */
function selectorErrors(selector: Json | undefined, at: string): FieldError[] {
  if (!isObject(selector)) return [];
  const raw = stringAt(selector, 'rawSelector');
  const requirements = Array.isArray(selector.requirements)
    ? selector.requirements.filter(isObject)
    : [];
  if (raw !== '' && requirements.length > 0) {
    const why = 'may not specified at the same time as requirements';
    return [fieldInvalid(`${at}.rawSelector`, raw, why)];
  }
  if (raw === '' && requirements.length === 0) {
    const why = `when ${at} is specified, requirements or rawSelector is required`;
    return [fieldRequired(`${at}.requirements`, why)];
  }
  return requirements.flatMap((requirement, index) => {
    const place = `${at}.requirements[${index}]`;
    const values = texts(requirement.values);
    const operator = stringAt(requirement, 'operator');
    const errors: FieldError[] = [];
    if (stringAt(requirement, 'key') === '')
      errors.push(fieldRequired(`${place}.key`, 'must be specified'));
    if ((operator === 'In' || operator === 'NotIn') && values.length === 0) {
      const why = "must be specified when `operator` is 'In' or 'NotIn'";
      errors.push(fieldRequired(`${place}.values`, why));
    } else if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0) {
      const why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      errors.push(fieldForbidden(`${place}.values`, why));
    }
    return errors;
  });
}

function subjectErrors(object: JsonObject): FieldError[] {
  const spec = memberObject(object, 'spec');
  if (stringAt(spec, 'user') !== '' || texts(spec.groups).length > 0) return [];
  return [fieldInvalid('spec.user', '', 'at least one of user or group must be specified')];
}

function metadataErrors(object: JsonObject, ...allowed: string[]): FieldError[] {
  const given = without(metadataOf(object), 'managedFields', ...allowed);
  if (Object.keys(given).length === 0) return [];
  const why = `must be empty${allowed.length === 0 ? '' : ` except for ${allowed.join(', ')}`}`;
  return [fieldInvalid('metadata', metadataOf(object), why)];
}

/** Checks a LocalSubjectAccessReview, which is for one namespace. */
function localErrors(object: JsonObject): FieldError[] {
  const { resourceAttributes, nonResourceAttributes: path } = memberObject(object, 'spec');
  const errors = [...attributeErrors(object), ...subjectErrors(object)];
  errors.push(...metadataErrors(object, 'namespace'));
  const own = stringAt(metadataOf(object), 'namespace');
  if (isObject(resourceAttributes)) {
    const namespace = stringAt(resourceAttributes, 'namespace');
    if (namespace !== own) {
      const field = 'spec.resourceAttributes.namespace';
      errors.push(fieldInvalid(field, namespace, 'must match metadata.namespace'));
    }
  }
  if (isObject(path)) {
    const why = 'disallowed on this kind of request';
    errors.push(fieldInvalid('spec.nonResourceAttributes', path, why));
  }
  return errors;
}

function rulesReview(object: JsonObject, { authorizer, user }: Reviewer): JsonObject {
  const namespace = stringAt(memberObject(object, 'spec'), 'namespace');
  if (namespace === '') throw badRequest('no namespace on request');
  const rules = authorizer.rulesOf(user, namespace);
  const of = (members: readonly (keyof PolicyRule)[]): JsonObject[] =>
    rules
      .filter((rule) => members.some((member) => member !== 'verbs' && rule[member].length > 0))
      .map((rule) =>
        Object.fromEntries(
          members
            .filter((member) => rule[member].length > 0)
            .map((member): [string, Json] => [member, [...rule[member]]]),
        ),
      );
  return {
    metadata: {},
    spec: {},
    status: {
      resourceRules: of(['verbs', 'apiGroups', 'resources', 'resourceNames']),
      nonResourceRules: of(['verbs', 'nonResourceURLs']),
      incomplete: false,
    },
  };
}

const texts = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
