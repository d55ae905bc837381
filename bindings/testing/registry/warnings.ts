/**
 * What a client is warned of, whatever comes of its request: versions that are deprecated, and
 * members that mean trouble. kubernetes: the kinds' strategies (WarningsOnCreate, WarningsOnUpdate).
 */

import { has, schemasOf } from '../definitions/leniency.ts';
import { isObject, type Json, type JsonObject, objectAt, sameJson } from '../json.ts';
import { isKnownFormat } from '../schema/formats.ts';
import { isDefinition } from './definitions.ts';
import type { Kind } from './kinds.ts';

const ENDPOINTS = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice';
const EXTERNAL_IPS =
  'spec.externalIPs is deprecated and may no longer be implemented in some clusters';
const INGRESS_CLASS = 'kubernetes.io/ingress.class';
const TOKENS_IN_CONTEXT =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to ' +
  'prevent possible logging of tokens in volume attributes';

/** Of every request for the kind. */
export function deprecationOf(kind: Kind): readonly string[] {
  if (kind.builtIn) return kind.group === '' && kind.plural === 'endpoints' ? [ENDPOINTS] : [];
  return kind.deprecation === undefined ? [] : [kind.deprecation];
}

/**
 * Of a create, an update or a patch that leads to this object.
 *
 * @param old undefined at a create
 */
export function warningsOf(kind: Kind, object: JsonObject, old?: JsonObject): string[] {
  const owners = duplicateOwners(objectAt(object, 'metadata').ownerReferences);
  if (isDefinition(kind)) {
    const had = old === undefined ? [] : unknownFormats(old);
    return [...owners, ...unknownFormats(object).filter((warning) => !had.includes(warning))];
  }
  if (kind.builtIn) return [...owners, ...ofKind(kind, object, old)];
  return [...owners, ...unqualifiedFinalizers(object, old)];
}

/** Formats that nobody checks, each once. */
function unknownFormats(crd: JsonObject): string[] {
  const found = new Set<string>();
  for (const schema of schemasOf(objectAt(crd, 'spec')))
    has(schema, ({ format, type }) => {
      if (typeof format === 'string' && !isKnownFormat(format, String(type ?? '')))
        found.add(`unrecognized format ${JSON.stringify(format)}`);
      return false;
    });
  return [...found];
}

const STANDARD = ['orphan', 'foregroundDeletion', 'kubernetes'];

/** Finalizers that are new and have no group. customresource/validator.go. */
function unqualifiedFinalizers(object: JsonObject, old?: JsonObject): string[] {
  const of = (each: JsonObject | undefined): Json[] => {
    const { finalizers } = objectAt(each ?? {}, 'metadata');
    return Array.isArray(finalizers) ? [...(finalizers as readonly Json[])] : [];
  };
  const had = of(old);
  return [...new Set(of(object).filter((name) => !had.includes(name)))]
    .map(String)
    .sort()
    .filter((name) => !name.includes('/') && !STANDARD.includes(name))
    .map((name) => {
      const path = name.includes('.') ? ' including a path (/)' : '';
      return `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
    });
}

function ofKind(kind: Kind, object: JsonObject, old: JsonObject | undefined): string[] {
  const spec = objectAt(object, 'spec');
  const isFilled = (member: Json | undefined): boolean =>
    Array.isArray(member) && member.length > 0;
  const isSame = (member: string): boolean =>
    old !== undefined && sameJson(objectAt(old, 'spec')[member], spec[member]);
  switch (`${kind.group}/${kind.plural}`) {
    case '/services':
      return isFilled(spec.externalIPs) ? [EXTERNAL_IPS] : [];
    case 'storage.k8s.io/csidrivers':
      return isFilled(spec.tokenRequests) &&
        spec.serviceAccountTokenInSecrets === undefined &&
        !isSame('tokenRequests')
        ? [TOKENS_IN_CONTEXT]
        : [];
    case 'networking.k8s.io/ingresses': {
      const annotated = objectAt(objectAt(object, 'metadata'), 'annotations')[INGRESS_CLASS];
      return old === undefined && annotated !== undefined && spec.ingressClassName === undefined
        ? [
            `annotation "${INGRESS_CLASS}" is deprecated, please use 'spec.ingressClassName' instead`,
          ]
        : [];
    }
    case 'discovery.k8s.io/endpointslices':
      return old === undefined && object.addressType === 'FQDN'
        ? ['spec.addressType: FQDN endpoints are deprecated']
        : [];
    default:
      return [];
  }
}

/** apiserver: endpoints/handlers/rest.go dedupOwnerReferencesAndAddWarning. */
function duplicateOwners(list: Json | undefined): string[] {
  const uids = (Array.isArray(list) ? list : []).filter(isObject).map(({ uid }) => uid);
  const twice = new Set(uids.filter((uid, at) => uids.indexOf(uid) !== at));
  if (twice.size === 0) return [];
  return [
    '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in ' +
      '1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate ' +
      `UID(s) observed: ${[...twice].join(', ')}`,
  ];
}
